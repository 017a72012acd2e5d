// SPDX-License-Identifier: BSD-3-Clause
// From parameters.def to values: parsing, complaints, and the names that were meant.
#include "fci_core/base/parameters.h"

#include <strings.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "fci_core/base/assert.h"
#include "fci_core/base/environment.h"
#include "fci_core/base/parse.h"

namespace fci {

namespace {

constexpr ParameterText kTexts[] = {
#define FCI_PARAMETER(name, type, fallback, env, help) {#name, #type, fallback, env, help},
#include "fci_core/base/parameters.def"
#undef FCI_PARAMETER
};
constexpr unsigned kParameters = sizeof(kTexts) / sizeof(kTexts[0]);

constexpr std::string_view kPrefix = "FCI_";
/// Beginnings of variables that are no options but belong to something else all the same.
constexpr std::string_view kOthersVariables[] = {
    "FCI_TEST_",   // the tests
    "FCI_BENCH_",  // bench/
};

std::string_view first_choice(const char* words) {
    const std::string_view all(words);
    return all.substr(0, all.find('|'));
}

bool is_choice(std::string_view value, std::string_view words) {
    while (!words.empty()) {
        const std::size_t end = words.find('|');
        if (value == words.substr(0, end)) return true;
        words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
    }
    return false;
}

/// The values that this parameter may have, for people.
std::string allowed(const ParameterText& text) {
    const std::string_view type(text.type);
    if (type == "choice") {
        std::string words(text.fallback);
        for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 4) {
            words.replace(at, 1, " or ");
        }
        return words;
    }
    if (type == "bytes") return "a number of bytes such as 4096, 64K, 2M or 1G";
    if (type == "ports") return "a port or a range of ports, such as 40000-40999";
    if (type == "number") return "a whole number, 0 or more";
    if (type == "file") return "the path of a file (one that is called like this: ./NAME)";
    return "any text";
}

std::string_view fallback_of(const ParameterText& text) {
    return std::string_view(text.type) == "choice" ? first_choice(text.fallback) : text.fallback;
}

std::string complaint(const ParameterText& text, std::string_view value) {
    std::string said = std::string(text.env) + "='" + std::string(value) +
                       "' in the environment is not usable: " + text.name + " takes " +
                       allowed(text) + ".";
    if (std::string_view(text.type) == "choice") {
        const std::string near(nearest_word(value, text.fallback));
        if (!near.empty()) said += " Did you mean " + near + "?";
    }
    return said + " Correct it, or unset it to get the default (" +
           (*text.fallback != '\0' ? std::string(fallback_of(text)) : "none") + ").";
}

/// on or off, as people write them; else as it is.
std::string_view plain_switch(std::string_view value) noexcept {
    const auto is_one_of = [&](std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(), [&](const char* word) {
            return value.size() == std::strlen(word) &&
                   strncasecmp(value.data(), word, value.size()) == 0;
        });
    };
    if (is_one_of({"1", "y", "yes", "true", "on"})) return "on";
    if (is_one_of({"0", "n", "no", "false", "off"})) return "off";
    return value;
}

bool parse(const ParameterText& text, std::string_view value, std::string* to) {
    const std::string_view type(text.type);
    if (type == "choice" && !is_choice(value, text.fallback)) {
        value = plain_switch(value);
        if (!is_choice(value, text.fallback)) return false;
    }
    // A user that means to switch something on shall not find a file of that name.
    if (type == "file" && is_choice(value, "0|1|on|off|yes|no|true|false")) return false;
    *to = value;
    return true;
}

bool parse(const ParameterText&, std::string_view value, PortRange* to) {
    const auto parsed = PortRange::parse(value);
    if (parsed) *to = *parsed;
    return parsed.has_value();
}

bool parse(const ParameterText& text, std::string_view value, std::uint64_t* to) {
    const auto parsed = std::string_view(text.type) == "bytes" ? parse_bytes(value)
                                                               : parse_number(value);
    if (!parsed) return false;
    *to = *parsed;
    return true;
}

/// An empty variable counts as one that is not set, as scripts leave them behind.
template <class T>
bool fill(const ParameterText& text, T* to, std::vector<std::string>* complaints) {
    parse(text, fallback_of(text), to);
    const char* const value = environment_value(text.env);
    if (value == nullptr || *value == '\0') return false;
    if (parse(text, value, to)) return true;
    if (complaints != nullptr) complaints->push_back(complaint(text, value));
    return false;
}

std::string as_text(const std::string& value) { return value; }
std::string as_text(PortRange value) { return value.text(); }
std::string as_text(std::uint64_t value) { return std::to_string(value); }

}  // namespace

Parameters Parameters::from_environment(std::vector<std::string>* complaints) {
    Parameters values;
    unsigned i = 0;
#define FCI_PARAMETER(name, type, fallback, env, help) \
    fill(kTexts[i++], &values.name, complaints);
#include "fci_core/base/parameters.def"
#undef FCI_PARAMETER
    FCI_ASSERT(i == kParameters);
    return values;
}

unsigned parameter_count() noexcept { return kParameters; }

const ParameterText& parameter_text(unsigned i) noexcept {
    FCI_ASSERT(i < kParameters);
    return kTexts[i];
}

std::string parameter_value(unsigned i, bool* from_env) {
    FCI_ASSERT(i < kParameters);
    Parameters values;
    unsigned at = 0;
    std::string found;
#define FCI_PARAMETER(name, type, fallback, env, help)                     \
    if (at++ == i) {                                                       \
        const bool set = fill(kTexts[i], &values.name, nullptr);           \
        if (from_env != nullptr) *from_env = set;                          \
        found = as_text(values.name);                                      \
    }
#include "fci_core/base/parameters.def"
#undef FCI_PARAMETER
    return found;
}

std::vector<std::string> unknown_variables() {
    std::string known;  // without the prefix, which would make all of them look alike
    for (const ParameterText& text : kTexts) {
        known += (known.empty() ? "" : "|") + std::string(text.env).substr(kPrefix.size());
    }
    std::vector<std::string> hints;
    for (const std::string& name : environment_names(kPrefix)) {
        const std::string own = name.substr(kPrefix.size());
        if (is_choice(own, known)) continue;
        if (std::any_of(std::begin(kOthersVariables), std::end(kOthersVariables),
                        [&](std::string_view prefix) { return name.starts_with(prefix); })) {
            continue;
        }
        const std::string near(nearest_word(own, known));
        hints.push_back(name + " in the environment is no option of FCI and has no effect. " +
                        (near.empty() ? "`fci_info -c` lists all options."
                                      : "Did you mean " + std::string(kPrefix) + near + "?"));
    }
    return hints;
}

}  // namespace fci
