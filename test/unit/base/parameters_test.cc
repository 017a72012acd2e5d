// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "fci_core/base/environment.h"

namespace fci {
namespace {

/// An environment without any FCI_* variable; what was there comes back afterwards.
class parameters : public ::testing::Test {
protected:
    void SetUp() override {
        for (const std::string& name : environment_names("FCI_")) {
            kept_[name] = std::getenv(name.c_str());
            unsetenv(name.c_str());
        }
    }
    void TearDown() override {
        for (const std::string& name : environment_names("FCI_")) unsetenv(name.c_str());
        for (const auto& [name, value] : kept_) setenv(name.c_str(), value.c_str(), 1);
    }
    static void set(const char* name, const char* value) { setenv(name, value, 1); }
    static bool contains(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }
    /// The one complaint that `value` causes.
    static std::string complaint_about(const char* name, const char* value) {
        set(name, value);
        std::vector<std::string> complaints;
        Parameters::from_environment(&complaints);
        EXPECT_EQ(complaints.size(), 1u) << name << "=" << value;
        unsetenv(name);
        return complaints.empty() ? std::string() : complaints.front();
    }
    static unsigned number_of(const std::string& name) {
        for (unsigned i = 0; i < parameter_count(); ++i) {
            if (name == parameter_text(i).name) return i;
        }
        ADD_FAILURE() << "no parameter " << name;
        return 0;
    }

private:
    std::map<std::string, std::string> kept_;
};

TEST_F(parameters, defaults__are_those_of_the_table) {
    std::vector<std::string> complaints;
    const Parameters values = Parameters::from_environment(&complaints);
    EXPECT_TRUE(complaints.empty());
    EXPECT_EQ(values.driver, "");
    EXPECT_EQ(values.protocol, "enhanced-mixed");
    EXPECT_EQ(values.wait, "auto");
    EXPECT_EQ(values.info, "off");
    EXPECT_EQ(values.unexpected_bytes, 1024u * 1024);
    EXPECT_EQ(values.connect_ms, 30000u);
    EXPECT_EQ(values.linger_ms, 10000u);
    EXPECT_EQ(values.silence_ms, 10000u);
}

TEST_F(parameters, environment__overrides) {
    set("FCI_PROTOCOL", "two-sided");
    set("FCI_RING_BYTES", "2M");
    set("FCI_SLOTS", "64");
    set("FCI_DRIVER", "shm");
    std::vector<std::string> complaints;
    const Parameters values = Parameters::from_environment(&complaints);
    EXPECT_TRUE(complaints.empty());
    EXPECT_EQ(values.protocol, "two-sided");
    EXPECT_EQ(values.ring_bytes, 2u << 20);
    EXPECT_EQ(values.slots, 64u);
    EXPECT_EQ(values.driver, "shm");
}

TEST_F(parameters, environment__empty_is_not_set) {
    set("FCI_WAIT", "");
    set("FCI_SLOTS", "");
    std::vector<std::string> complaints;
    const Parameters values = Parameters::from_environment(&complaints);
    EXPECT_TRUE(complaints.empty());
    EXPECT_EQ(values.wait, "auto");
}

TEST_F(parameters, bad_values__keep_the_default_and_are_all_described) {
    set("FCI_WAIT", "slep");
    set("FCI_RING_BYTES", "a lot");
    set("FCI_SLOTS", "-1");
    std::vector<std::string> complaints;
    const Parameters values = Parameters::from_environment(&complaints);
    EXPECT_EQ(complaints.size(), 3u);
    EXPECT_EQ(values.wait, "auto");
    EXPECT_EQ(values.ring_bytes, 0u);
    EXPECT_EQ(values.slots, 0u);
    EXPECT_EQ(Parameters::from_environment(nullptr).wait, "auto");  // nobody listens
}

TEST_F(parameters, complaint__says_what_where_and_what_is_allowed) {
    const std::string text = complaint_about("FCI_WAIT", "slep");
    EXPECT_TRUE(contains(text, "FCI_WAIT='slep' in the environment")) << text;
    EXPECT_TRUE(contains(text, "auto or spin or yield or sleep")) << text;
    EXPECT_TRUE(contains(text, "Did you mean sleep?")) << text;
    EXPECT_TRUE(contains(text, "unset it to get the default (auto)")) << text;
    EXPECT_TRUE(contains(complaint_about("FCI_RING_BYTES", "1X"), "64K, 2M or 1G"));
    EXPECT_TRUE(contains(complaint_about("FCI_LINGER_MS", "soon"), "a whole number"));
    EXPECT_TRUE(contains(complaint_about("FCI_PORTS", "9-5"), "such as 40000-40999"));
}

TEST_F(parameters, file__is_no_switch) {
    for (const char* word : {"0", "1", "on", "off", "yes", "no", "true", "false"}) {
        const std::string text = complaint_about("FCI_REPORT", word);
        EXPECT_TRUE(contains(text, "path of a file")) << text;
        EXPECT_TRUE(contains(text, "default (none)")) << text;
    }
    for (const char* path : {"./1", "/tmp/on", "report.json", "10"}) {
        set("FCI_REPORT", path);
        std::vector<std::string> complaints;
        EXPECT_EQ(Parameters::from_environment(&complaints).report, path);
        EXPECT_TRUE(complaints.empty());
    }
}

TEST_F(parameters, switch__is_taken_as_people_write_it) {
    for (const char* word : {"1", "y", "Y", "yes", "YES", "true", "True", "on", "On"}) {
        set("FCI_INFO", word);
        std::vector<std::string> complaints;
        EXPECT_EQ(Parameters::from_environment(&complaints).info, "on") << word;
        EXPECT_TRUE(complaints.empty());
    }
    for (const char* word : {"0", "n", "no", "No", "false", "FALSE", "OFF"}) {
        set("FCI_INFO", word);
        std::vector<std::string> complaints;
        EXPECT_EQ(Parameters::from_environment(&complaints).info, "off") << word;
        EXPECT_TRUE(complaints.empty());
    }
    for (const char* word : {"2", "onn", "o", "ye", "tru"}) {
        EXPECT_TRUE(contains(complaint_about("FCI_INFO", word), "info takes off or on")) << word;
    }
    EXPECT_TRUE(contains(complaint_about("FCI_WAIT", "yes"), "auto or spin")) << "it is no switch";
}

TEST_F(parameters, every_choice__is_accepted) {
    for (unsigned i = 0; i < parameter_count(); ++i) {
        const ParameterText& text = parameter_text(i);
        if (std::string(text.type) != "choice") continue;
        std::string words(text.fallback);
        std::replace(words.begin(), words.end(), '|', ' ');
        for (std::size_t at = 0; at < words.size();) {
            const std::string word = words.substr(at, words.find(' ', at) - at);
            at += word.size() + 1;
            set(text.env, word.c_str());
            bool from_env = false;
            EXPECT_EQ(parameter_value(i, &from_env), word);
            EXPECT_TRUE(from_env);
        }
        unsetenv(text.env);
    }
}

TEST_F(parameters, table__has_each_name_once_and_a_help_text) {
    std::set<std::string> names, variables;
    for (unsigned i = 0; i < parameter_count(); ++i) {
        const ParameterText& text = parameter_text(i);
        EXPECT_TRUE(names.insert(text.name).second) << text.name;
        EXPECT_TRUE(variables.insert(text.env).second) << text.env;
        EXPECT_EQ(std::string(text.env).rfind("FCI_", 0), 0u) << text.env;
        EXPECT_GT(std::string(text.help).size(), 10u) << text.name;
        const std::set<std::string> types{"text",  "file",   "ports",
                                          "bytes", "number", "choice"};
        EXPECT_TRUE(types.count(text.type)) << text.type;
    }
}

TEST_F(parameters, value__tells_where_it_is_from) {
    const unsigned i = number_of("unexpected_bytes");
    bool from_env = true;
    EXPECT_EQ(parameter_value(i, &from_env), "1048576");
    EXPECT_FALSE(from_env);
    set("FCI_UNEXPECTED_BYTES", "2M");
    EXPECT_EQ(parameter_value(i, &from_env), "2097152");
    EXPECT_TRUE(from_env);
    set("FCI_UNEXPECTED_BYTES", "many");
    EXPECT_EQ(parameter_value(i, nullptr), "1048576");
}

TEST_F(parameters, unknown_variables__get_the_nearest_name) {
    set("FCI_WIAT", "spin");
    set("FCI_PROTOCOL", "two-sided");
    set("FCI_NOTHING_LIKE_IT", "1");
    const std::vector<std::string> hints = unknown_variables();
    ASSERT_EQ(hints.size(), 2u);
    EXPECT_TRUE(contains(hints[0], "FCI_NOTHING_LIKE_IT")) << hints[0];
    EXPECT_TRUE(contains(hints[0], "fci_info -c")) << hints[0];
    EXPECT_TRUE(contains(hints[1], "FCI_WIAT")) << hints[1];
    EXPECT_TRUE(contains(hints[1], "Did you mean FCI_WAIT?")) << hints[1];
}

TEST_F(parameters, unknown_variables__leaves_others_alone) {
    set("FCI_TEST_SECONDS", "5");
    for (unsigned i = 0; i < parameter_count(); ++i) set(parameter_text(i).env, "");
    EXPECT_TRUE(unknown_variables().empty());
}

}  // namespace
}  // namespace fci
