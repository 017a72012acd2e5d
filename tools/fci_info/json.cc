// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "tools/fci_info/output.h"

namespace fci::tools::info {

using nlohmann::ordered_json;

namespace {

ordered_json context_json(const Survey& survey) {
    if (!survey.error.empty()) return {{"usable", false}, {"error", survey.error}};
    ordered_json ways = ordered_json::array();
    for (const Way& way : survey.ways) {
        ways.push_back({{"from_bytes", way.from},
                        {"to_bytes", way.to == 0 ? ordered_json(nullptr) : ordered_json(way.to)},
                        {"way", way.text}});
    }
    return {{"usable", true},
            {"driver", survey.driver},
            {"driver_reason", survey.driver_reason},
            {"protocol", survey.protocol},
            {"wait_policy", survey.wait_policy},
            {"inline_bytes", survey.limits.inline_bytes},
            {"inject_bytes", survey.limits.inject_bytes},
            {"eager_bytes", survey.limits.eager_bytes},
            {"offer_bytes", survey.limits.offer_bytes},
            {"unexpected_bytes", survey.limits.unexpected_bytes},
            {"messages", ways}};
}

const char* name_of(Severity severity) {
    switch (severity) {
        case Severity::ok: return "ok";
        case Severity::note: return "note";
        case Severity::problem: break;
    }
    return "problem";
}

ordered_json findings_json(const Findings& findings) {
    ordered_json list = ordered_json::array();
    for (const Finding& finding : findings) {
        list.push_back({{"what", finding.what},
                        {"state", name_of(finding.severity)},
                        {"text", finding.text},
                        {"remedy", finding.remedy}});
    }
    return list;
}

ordered_json network_json(const Survey& survey) {
    ordered_json interfaces = ordered_json::array();
    for (const Interface& one : survey.interfaces) {
        interfaces.push_back({{"name", one.name},
                              {"address", one.address},
                              {"chosen", one.chosen},
                              {"why", one.why}});
    }
    return {{"usable", survey.has_network},
            {survey.has_network ? "reason" : "error", survey.network},
            {"interfaces", interfaces}};
}

ordered_json uses_json(const Uses& uses) {
    return {{"fci", uses.fci},
            {"plug", name_of(uses.plug)},
            {"mpi", uses.launcher.title},
            {"launcher", uses.launcher.path},
            {"job", uses.launcher.in_job},
            {"text", uses.text}};
}

}  // namespace

std::string json_text(const Survey& survey, const Diagnosis* diagnosis) {
    ordered_json all = {{"version", survey.version}};
    all["drivers"] = ordered_json::array();
    for (const Driver& driver : survey.drivers) {
        all["drivers"].push_back({{"name", driver.name},
                                  {"usable", driver.usable},
                                  {"summary", driver.summary},
                                  {"reason", driver.reason}});
    }
    all["network"] = network_json(survey);
    all["context"] = context_json(survey);
    all["options"] = ordered_json::array();
    for (const Option& option : survey.options) {
        all["options"].push_back({{"name", option.name},
                                  {"variable", option.env},
                                  {"value", option.value},
                                  {"from", option.from},
                                  {"default", option.fallback.substr(0, option.fallback.find('|'))},
                                  {"help", option.help}});
    }
    all["counters"] = ordered_json::array();
    for (const Counter& counter : survey.counters) {
        all["counters"].push_back({{"name", counter.name}, {"help", counter.help}});
    }
    all["unknown_variables"] = survey.unknown;
    if (diagnosis != nullptr) {
        all["findings"] = findings_json(diagnosis->findings);
        all["uses"] = uses_json(diagnosis->uses);
    }
    // Bytes that are no UTF-8 can stand in the environment; they must not end this program.
    return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fci::tools::info
