// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/which.h"

#include <nlohmann/json.hpp>

namespace fci::tools::info {

Which which(const std::vector<std::string>& words) {
    const Installation here = Installation::find();
    insist_on_program(words.front());
    const Choice choice = choose(here, {words, is_launcher_name(words.front()), "", false});
    return {choice, settings_for(here, choice)};
}

std::string which_text(const Which& which) {
    const Choice& choice = which.choice;
    std::string text = "program   " + choice.program + "\n" + "MPI       " + choice.title() + "\n";
    if (!choice.library.empty()) text += "library   " + choice.library + "\n";
    if (!choice.note.empty()) text += "          " + choice.note + "\n";
    text += "launcher  " + choice.launcher.path + "\n" + "FCI       " + choice.plug + "\n";
    const char* title = "set       ";
    for (const Setting& one : which.settings) {
        text += title + one.name + "=" + one.value + "\n";
        title = "          ";
    }
    return text;
}

std::string which_json(const Which& which) {
    const Choice& choice = which.choice;
    nlohmann::ordered_json set = nlohmann::ordered_json::object();
    for (const Setting& one : which.settings) set[one.name] = one.value;
    const nlohmann::ordered_json all = {
        {"program", choice.program}, {"mpi", word_of(choice.mpi)},
        {"title", choice.title()},   {"library", choice.library},
        {"note", choice.note},       {"launcher", choice.launcher.path},
        {"fci", choice.plug},        {"set", set}};
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fci::tools::info
