// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/survey.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tools/launch/settings.h"
#include "tools/launch/surroundings.h"

namespace fci::tools::info {

namespace {

std::vector<std::string> unknown_variables(const std::vector<Option>& options) {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        const std::string_view name = line.substr(0, line.find('='));
        if (!name.starts_with("FCI_")) continue;
        const bool known =
            std::any_of(options.begin(), options.end(),
                        [&](const Option& option) { return option.env == name; }) ||
            is_of_others(std::string(name));
        if (!known) names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

void ask_network(Survey* survey) {
    struct fci_icl_interface interface{};
    for (unsigned i = 0; fci_icl_interface(i, &interface) == FCI_ICL_OK; ++i) {
        survey->interfaces.push_back(
            {interface.name, interface.address, interface.why, interface.chosen != 0});
    }
    const char* line = "";
    survey->has_network = fci_icl_network(&line) == FCI_ICL_OK;
    survey->network = line;
    for (const Option& option : survey->options) {
        if (option.env == "FCI_NET" && option.from != "default") {
            survey->network_is_refused = !survey->has_network;
        }
    }
}

void ask_context(Survey* survey, unsigned local_ranks) {
    fci_icl_config config{};
    config.version = FCI_ICL_VERSION;
    config.local_ranks = local_ranks;
    config.user_agent = "fci_info";
    fci_icl_context* context = nullptr;
    char* error = nullptr;
    const std::string info = environment("FCI_INFO");
    if (!info.empty()) unsetenv("FCI_INFO");  // its line is for jobs
    const int result = fci_icl_open(&config, &context, &error);
    if (!info.empty()) set_variable("FCI_INFO", info);
    if (result != FCI_ICL_OK) {
        survey->error = error != nullptr ? error : fci_icl_strerror(result);
        std::free(error);
        return;
    }
    fci_icl_limits(context, &survey->limits);
    survey->driver = survey->limits.driver;
    survey->driver_reason = survey->limits.driver_reason;
    survey->protocol = survey->limits.protocol;
    survey->wait_policy = survey->limits.wait_policy;
    survey->summary = fci_icl_summary(context);
    survey->ways = ways_of(survey->limits);
    fci_icl_close(context, 0);
}

}  // namespace

std::vector<Way> ways_of(const struct fci_icl_limits& limits) {
    const std::string asked = "announced by a send request; the receiver asks for the data";
    std::vector<Way> ways;
    std::size_t next = 0;
    const auto up_to = [&](std::size_t last, const std::string& text) {
        ways.push_back({next, last, text});
        next = last + 1;
    };
    if (limits.inject_bytes != 0) {
        up_to(limits.inline_bytes, "inside the send request: one cache line");
        up_to(limits.eager_bytes, "in the ring, together with the send request");
    }
    const bool some_are_offered = limits.offer_bytes != 0;
    if (limits.offer_bytes > next + 1) up_to(limits.offer_bytes - 1, asked);
    ways.push_back({next, 0,
                    some_are_offered ? asked + "; or at once into a receive that named its source "
                                               "and was posted before"
                                     : asked});
    return ways;
}

Survey take_survey(unsigned local_ranks) {
    Survey survey;
    survey.version = fci_icl_library_version();
    struct fci_icl_option option{};
    for (unsigned i = 0; fci_icl_option(i, &option) == FCI_ICL_OK; ++i) {
        survey.options.push_back({option.name, option.env, option.fallback, option.value,
                                  option.help, option.from});
    }
    struct fci_icl_driver driver{};
    for (unsigned i = 0; fci_icl_driver(i, &driver) == FCI_ICL_OK; ++i) {
        survey.drivers.push_back({driver.name, driver.summary, driver.reason, driver.usable != 0});
    }
    const char* help = nullptr;
    for (unsigned i = 0; const char* name = fci_icl_counter_name(i, &help); ++i) {
        survey.counters.push_back({name, help});
    }
    ask_network(&survey);
    survey.unknown = unknown_variables(survey.options);
    ask_context(&survey, local_ranks);
    return survey;
}

std::string bytes_text(std::size_t bytes) {
    const char* const units[] = {" B", " KiB", " MiB", " GiB"};
    unsigned unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes) + units[unit];
}

}  // namespace fci::tools::info
