// Finding: one thing that the doctor looked at.
#pragma once

#include <string>
#include <vector>

namespace fci::info {

struct Finding {
    bool ok = true;
    std::string what;    // "provider loads"
    std::string text;    // what was seen
    std::string remedy;  // what to do; empty when ok
};

using Findings = std::vector<Finding>;

inline void add_ok(Findings* findings, std::string what, std::string text) {
    findings->push_back({true, std::move(what), std::move(text), {}});
}

inline void add_problem(Findings* findings, std::string what, std::string text,
                        std::string remedy) {
    findings->push_back({false, std::move(what), std::move(text), std::move(remedy)});
}

}  // namespace fci::info
