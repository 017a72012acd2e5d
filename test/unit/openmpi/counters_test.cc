// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/counters.c: FCI's counters as variables that a tool reads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

using Counters = Ends;

TEST_F(Counters, each__is_a_variable_that_says_what_the_core_does) {
    int provided = 0;
    ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    MPI_T_pvar_session session;
    ASSERT_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    struct Variable {
        std::string name;
        std::uint64_t before;
        MPI_T_pvar_handle handle;
    };
    std::vector<Variable> variables;
    unsigned all = 0;
    const char* help = nullptr;
    for (const char* name; (name = fci_icl_counter_name(all, &help)) != nullptr; ++all) {
        int index = -1, count = 0;
        const std::string variable = std::string("pml_fci_") + name;
        ASSERT_EQ(MPI_T_pvar_get_index(variable.c_str(), MPI_T_PVAR_CLASS_COUNTER, &index),
                  MPI_SUCCESS)
            << variable;
        MPI_T_pvar_handle handle;
        ASSERT_EQ(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count), MPI_SUCCESS);
        ASSERT_EQ(count, 1);
        variables.push_back({variable, fci_icl_counter(near_context(), all), handle});
    }
    // A tool is told how much is new since it has asked.
    meet();
    unsigned changed = 0;
    for (unsigned i = 0; i < all; ++i) {
        Variable& it = variables[i];
        unsigned long long value = 4711;
        ASSERT_EQ(MPI_T_pvar_read(session, it.handle, &value), MPI_SUCCESS);
        EXPECT_EQ(value, fci_icl_counter(near_context(), i) - it.before) << it.name;
        changed += value != 0;
        MPI_T_pvar_handle_free(session, &it.handle);
    }
    EXPECT_GT(all, 10u);
    EXPECT_GT(changed, 1u);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

}  // namespace
}  // namespace fci::openmpi
