// fci_info: what FCI is and can do here, and what stands in its way.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/fci_info/doctor.h"
#include "tools/fci_info/output.h"

namespace {

enum ExitCode { kAllWell = 0, kProblem = 1, kWrongUsage = 2 };

struct Wanted {
    fci::info::Chapters chapters;
    bool json = false, doctor = false, version = false;
    unsigned local_ranks = 0;
    std::string provider;
};

void describe(CLI::App* app, Wanted* wanted) {
    app->add_flag("-d,--drivers", wanted->chapters.drivers,
                  "Drivers with their state, and the reason where one is not usable");
    app->add_flag("-l,--limits", wanted->chapters.limits,
                  "Driver, protocol and wait policy, and how a message travels by its length");
    app->add_flag("-c,--config", wanted->chapters.options,
                  "Every option: its value, where that is from, its default and what it does");
    app->add_flag("-s,--counters", wanted->chapters.counters, "Every counter of FCI_STATS");
    app->add_option("-n,--local-ranks", wanted->local_ranks,
                    "As for a job with so many processes on this host");
    app->add_flag("--json", wanted->json, "Everything, as JSON");
    app->add_flag("--doctor", wanted->doctor,
                  "Look for what keeps programs from FCI: load the libfabric provider, check "
                  "filters, Open MPI's settings and this machine");
    app->add_option("--provider", wanted->provider,
                    "With --doctor: the provider, or its directory, instead of the one found");
    app->add_flag("--version", wanted->version, "The version, nothing else");
    app->footer("Without options: drivers and limits. Exit code: 0 all is well, 1 a problem was "
                "found,\n2 wrong usage.");
}

bool well(const fci::info::Survey& survey) {
    return survey.error.empty() &&
           std::any_of(survey.drivers.begin(), survey.drivers.end(),
                       [](const fci::info::Driver& driver) { return driver.usable; });
}

int show(const Wanted& wanted) {
    if (wanted.version) {
        std::printf("%s\n", fci_icl_library_version());
        return kAllWell;
    }
    const fci::info::Survey survey = fci::info::take_survey(wanted.local_ranks);
    fci::info::Findings findings;
    if (wanted.doctor) findings = fci::info::examine(survey, wanted.provider);
    const bool sound = std::all_of(findings.begin(), findings.end(),
                                   [](const fci::info::Finding& finding) { return finding.ok; });
    std::string text;
    if (wanted.json) {
        text = json_text(survey, wanted.doctor ? &findings : nullptr);
    } else if (wanted.doctor) {
        text = findings_text(findings);
    } else {
        text = survey_text(survey, wanted.chapters);
    }
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) return kProblem;
    return well(survey) && sound ? kAllWell : kProblem;
}

}  // namespace

int main(int argc, char** argv) {
    Wanted wanted;
    CLI::App app("What FCI, the MPI network layer, is and can do on this machine.", "fci_info");
    describe(&app, &wanted);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kAllWell : kWrongUsage;
    }
    fci::info::Chapters& chapters = wanted.chapters;
    if (!chapters.drivers && !chapters.limits && !chapters.options && !chapters.counters) {
        chapters.drivers = chapters.limits = true;
    }
    return show(wanted);
}
