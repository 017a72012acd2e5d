// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/output.h"

#include <algorithm>

namespace fci::tools::info {

namespace {

constexpr std::size_t kColumns = 90;

/// Words in lines of at most kColumns, each behind `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent) {
    std::string all, line;
    const auto flush = [&] {
        if (!line.empty()) all += std::string(indent, ' ') + line + "\n";
        line.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) flush();
        if (!word.empty()) line += (line.empty() ? "" : " ") + word;
        if (end < text.size() && text[end] == '\n') flush();
        at = end + 1;
    }
    flush();
    return all;
}

std::string drivers_text(const Survey& survey) {
    std::string text = "Drivers, the best first\n";
    std::size_t width = 8;
    for (const Driver& driver : survey.drivers) width = std::max(width, driver.name.size() + 2);
    for (const Driver& driver : survey.drivers) {
        const std::string state = driver.usable ? "usable" : "not usable";
        text += "  " + padded(driver.name, width) + padded(state, 12) + driver.summary + "\n";
        if (!driver.reason.empty()) text += wrapped(driver.reason, width + 14);
    }
    if (survey.drivers.empty()) text += "  none in this build\n";
    return text;
}

/// The chosen network is first; each line has the reason for it, or against it.
std::string network_text(const Survey& survey) {
    std::string text = "Network, for drivers over one (FCI_NET)\n";
    std::size_t name = 8, address = 14;
    for (const Interface& one : survey.interfaces) {
        name = std::max(name, one.name.size() + 2);
        address = std::max(address, one.address.size() + 2);
    }
    for (const bool chosen : {true, false}) {
        for (const Interface& one : survey.interfaces) {
            if (one.chosen != chosen) continue;
            text += (chosen ? "  taken     " : "  not       ") + padded(one.name, name) +
                    padded(one.address, address) + one.why + "\n";
        }
    }
    if (!survey.has_network) text += wrapped(survey.network, 2);
    return text;
}

std::string limits_text(const Survey& survey) {
    if (!survey.error.empty()) {
        return "No context can be opened here:\n" + wrapped(survey.error, 2);
    }
    std::string text = "A program that starts now gets\n";
    text += "  driver       " + survey.driver + " (" + survey.driver_reason + ")\n";
    text += "  protocol     " + survey.protocol + "\n";
    text += "  waits by     " + survey.wait_policy + "\n";
    text += "\nHow a message travels, by its length\n";
    for (const Way& way : survey.ways) {
        const std::string range =
            way.to == 0 ? "from " + bytes_text(way.from) : "up to " + bytes_text(way.to);
        std::string lines = wrapped(way.text, 21);
        lines.replace(2, range.size(), range);
        text += lines;
    }
    text += "  (unexpected data is held up to " + bytes_text(survey.limits.unexpected_bytes) +
            " for each peer, then the sender waits)\n";
    return text;
}

/// "auto|spin|yield": the first is the default, all are allowed.
std::string fallback_text(const Option& option) {
    const std::size_t bar = option.fallback.find('|');
    const std::string first = option.fallback.substr(0, bar);
    if (first.empty()) return "none";
    return bar == std::string::npos ? first : first + " (of " + option.fallback + ")";
}

std::string options_text(const Survey& survey) {
    std::string text = "Options, set as environment variables\n";
    for (const Option& option : survey.options) {
        text += "  " + padded(option.env, 22) + (option.value.empty() ? "(empty)" : option.value) +
                (option.from == "default" ? "" : "   <- from the " + option.from) + "\n";
        text += wrapped(option.help, 24);
        text += wrapped("default: " + fallback_text(option), 24);
    }
    return text;
}

std::string mark_of(Severity severity) {
    switch (severity) {
        case Severity::ok: return "ok       ";
        case Severity::note: return "note     ";
        case Severity::problem: break;
    }
    return "PROBLEM  ";
}

std::string counters_text(const Survey& survey) {
    std::string text = "Counters, shown at the end of each process with FCI_STATS=on\n";
    for (const Counter& counter : survey.counters) {
        text += "  " + padded(counter.name, 22) + counter.help + "\n";
    }
    return text;
}

}  // namespace

std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

std::string survey_text(const Survey& survey, const Chapters& chapters) {
    std::string text = "FCI " + survey.version + "\n";
    if (chapters.drivers) text += "\n" + drivers_text(survey);
    if (chapters.network) text += "\n" + network_text(survey);
    if (chapters.limits) text += "\n" + limits_text(survey);
    if (chapters.options) text += "\n" + options_text(survey);
    if (chapters.counters) text += "\n" + counters_text(survey);
    for (const std::string& name : survey.unknown) {
        text += "\nNote: " + name + " is set, but is no option of FCI (fci_info -c lists them).\n";
    }
    return text;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
    std::string text;
    for (const Finding& finding : diagnosis.findings) {
        text += mark_of(finding.severity) + finding.what + "\n";
        text += wrapped(finding.text, 13);
        if (!finding.remedy.empty()) text += wrapped("-> " + finding.remedy, 13);
    }
    const std::size_t problems = problems_in(diagnosis.findings);
    if (problems == 0) {
        text += "\nNo problem found. Whether the network does what it should: fci_perf.\n";
    } else {
        text += "\n" + std::to_string(problems) + " of " +
                std::to_string(diagnosis.findings.size()) +
                " findings are problems; each line with -> says what to do.\n";
    }
    return text + diagnosis.uses.text + "\n";
}

}  // namespace fci::tools::info
