// SPDX-License-Identifier: BSD-3-Clause
// Finding: one thing that the doctor looked at.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace fci::tools::info {

enum class Severity {
    ok,
    note,     // a problem for an MPI, or a plug, that is not used here
    problem,  // keeps programs from FCI
};

struct Finding {
    Severity severity = Severity::ok;
    std::string what;    // "provider loads"
    std::string text;    // the observation
    std::string remedy;  // only of a problem
    bool fci_env_mends = false;
};

using Findings = std::vector<Finding>;

inline void add_ok(Findings* findings, std::string what, std::string text) {
    findings->push_back({Severity::ok, std::move(what), std::move(text), {}, false});
}

inline void add_problem(Findings* findings, std::string what, std::string text,
                        std::string remedy) {
    findings->push_back(
        {Severity::problem, std::move(what), std::move(text), std::move(remedy), false});
}

/// Of something that fci-env sets, or sets right.
inline void add_setting_problem(Findings* findings, std::string what, std::string text,
                                std::string remedy) {
    add_problem(findings, std::move(what), std::move(text), std::move(remedy));
    findings->back().fci_env_mends = true;
}

inline std::size_t problems_in(const Findings& findings) {
    return static_cast<std::size_t>(std::count_if(
        findings.begin(), findings.end(),
        [](const Finding& finding) { return finding.severity == Severity::problem; }));
}

/// Turns problems into notes: they matter only on a way that is not taken here.
inline Findings as_notes(Findings findings) {
    for (Finding& finding : findings) {
        if (finding.severity == Severity::problem) finding.severity = Severity::note;
        finding.remedy.clear();
    }
    return findings;
}

}  // namespace fci::tools::info
