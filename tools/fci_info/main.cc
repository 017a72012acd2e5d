// SPDX-License-Identifier: BSD-3-Clause
// fci_info: what FCI is and can do here, and what stands in its way.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/fci_info/doctor.h"
#include "tools/fci_info/job.h"
#include "tools/fci_info/job_output.h"
#include "tools/fci_info/output.h"
#include "tools/fci_info/which.h"
#include "tools/launch/installation.h"
#include "tools/launch/options.h"
#include "tools/launch/refusal.h"

namespace {

enum ExitCode { kAllWell = 0, kProblem = 1, kWrongUsage = 2 };

struct Wanted {
    fci::tools::info::Chapters chapters;
    bool peers = false;
    bool json = false, doctor = false, version = false;
    unsigned local_ranks = 0;
    std::string provider;
    bool asks_for_jobs = false;
    std::string job;  // empty, "all" or a pid
    std::vector<std::string> which;
};

/// CLI11: what is wrong with it, or nothing.
std::string job_wish(const std::string& text) {
    int pid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
    const bool number = error == std::errc() && end == text.data() + text.size() && pid > 0;
    if (number || text == "all") return "";
    return "'" + text + "' is neither the number of a process nor all";
}

void describe(CLI::App* app, Wanted* wanted) {
    app->add_flag("-d,--drivers", wanted->chapters.drivers,
                  "Drivers with their state, and the reason where one is not usable");
    app->add_flag("-i,--interfaces", wanted->chapters.network,
                  "Network interfaces: at which one a process listens, and why not at the others");
    app->add_flag("-l,--limits", wanted->chapters.limits,
                  "Driver, protocol and wait policy, and how a message travels by its length");
    app->add_flag("-c,--config", wanted->chapters.options,
                  "Every option: its value, where that is from, its default and what it does");
    app->add_flag("-s,--counters", wanted->chapters.counters, "Every counter of FCI_STATS");
    app->add_option("-n,--local-ranks", wanted->local_ranks,
                    "As for a job with so many processes on this host");
    app->add_flag("--json", wanted->json, "Everything, as JSON");
    app->add_flag("--doctor", wanted->doctor,
                  "Look for what keeps programs from FCI: load Open MPI's component and the "
                  "libfabric provider, check filters, settings of MPIs and this machine; and say "
                  "what mpirun uses");
    app->add_option("--provider", wanted->provider,
                    "With --doctor: the provider, or its directory, instead of the one found");
    CLI::Option* const job =
        app->add_option("--job", wanted->job,
                        "What running jobs of this user use and do: a table for each; of one "
                        "process's job, or also of other users' jobs. With -s also the counters");
    job->expected(0, 1)->type_name("[PID|all]")->check(job_wish);
    app->add_option("--which", wanted->which,
                    "Which MPI a program uses, the launcher that fci-run would take for it, and "
                    "what that is told; of a launcher and its words likewise")
        ->type_name("PROGRAM")
        ->expected(1, -1);
    app->add_flag("--peers", wanted->peers,
                  "With --job: every peer of every process; without it while they are few")
        ->needs(job);
    app->add_flag("--version", wanted->version, "The version and the commit, nothing else");
    app->footer(
        "Without options: drivers, interfaces and limits. Exit code: 0 all is well, 1 a problem\n"
        "was found, 2 wrong usage.");
}

bool well(const fci::tools::info::Survey& survey) {
    return survey.error.empty() && !survey.network_is_refused &&
           std::any_of(survey.drivers.begin(), survey.drivers.end(),
                       [](const fci::tools::info::Driver& driver) { return driver.usable; });
}

int print(const std::string& text, bool well) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) return kProblem;
    return well ? kAllWell : kProblem;
}

int show_jobs(const Wanted& wanted) {
    fci::tools::info::JobSearch search;
    search.all_users = wanted.job == "all";
    if (!search.all_users && !wanted.job.empty()) search.pid = std::stoi(wanted.job);
    const fci::tools::info::Jobs jobs = fci::tools::info::find_jobs(search);
    return print(wanted.json ? jobs_json(jobs)
                             : jobs_text(jobs, search, {wanted.chapters.counters, wanted.peers}),
                 !jobs.jobs.empty() || search.pid == 0);
}

int show_which(const Wanted& wanted) try {
    const fci::tools::info::Which which = fci::tools::info::which(wanted.which);
    return print(wanted.json ? which_json(which) : which_text(which), true);
} catch (const fci::tools::Refusal& refusal) {
    std::fputs(refusal.text("fci_info").c_str(), stderr);
    return kProblem;
}

/// A word that is no option: with the one that was likely meant.
int refuse(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
    std::string near;
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (int i = 1; i < argc && near.empty(); ++i) {
        const std::string word = argv[i];
        const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
        if (word.starts_with("--") && !is_known) near = fci::tools::nearest(word, known);
    }
    std::fprintf(stderr, "fci_info: %s%s\n", error.what(),
                 (near.empty() ? "; see fci_info --help" : "; did you mean " + near + "?").c_str());
    return kWrongUsage;
}

int show(const Wanted& wanted) {
    if (wanted.version) {
        return print(fci::tools::Installation::find().version_text("fci_info"), true);
    }
    if (!wanted.which.empty()) return show_which(wanted);
    if (wanted.asks_for_jobs) return show_jobs(wanted);
    const fci::tools::info::Survey survey = fci::tools::info::take_survey(wanted.local_ranks);
    fci::tools::info::Diagnosis diagnosis;
    if (wanted.doctor) diagnosis = fci::tools::info::examine(survey, wanted.provider);
    const bool sound = fci::tools::info::problems_in(diagnosis.findings) == 0;
    std::string text;
    if (wanted.json) {
        text = json_text(survey, wanted.doctor ? &diagnosis : nullptr);
    } else if (wanted.doctor) {
        text = diagnosis_text(diagnosis);
    } else {
        text = survey_text(survey, wanted.chapters);
    }
    return print(text, well(survey) && sound);
}

}  // namespace

int main(int argc, char** argv) {
    Wanted wanted;
    CLI::App app("What FCI, the MPI network layer, is and can do on this machine.", "fci_info");
    describe(&app, &wanted);
    try {
        app.parse(argc, argv);
        wanted.asks_for_jobs = app.count("--job") != 0;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help
        return refuse(app, error, argc, argv);
    }
    fci::tools::info::Chapters& chapters = wanted.chapters;
    const bool any = chapters.drivers || chapters.network || chapters.limits || chapters.options ||
                     chapters.counters;
    if (!any) {
        chapters.drivers = chapters.network = chapters.limits = true;
    }
    return show(wanted);
}
