// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/component.c: where it does not offer itself, and why.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Component : public Ends {
protected:
    /// Why it does not, in one sentence; asked as Open MPI does.
    std::string refusal() {
        surroundings().said.clear();
        EXPECT_FALSE(near_offers_itself());
        EXPECT_EQ(surroundings().said.size(), 1u) << said();
        return said();
    }
};

TEST_F(Component, open_mpi_of_another_inside__is_named) {
    for (const unsigned type : {0u, 1u, 2u, 3u, 4u, 5u}) {
        near_grow_type(type, 8);
        const std::string why = refusal();
        near_grow_type(type, -8);
        EXPECT_NE(why.find("component was built for Open MPI "), std::string::npos) << why;
        EXPECT_NE(why.find("and this is Open MPI v"), std::string::npos) << why;
        EXPECT_NE(why.find("fci-run --mpi openmpi-ofi"), std::string::npos) << why;
    }
}

TEST_F(Component, value_of_an_option_that_cannot_be_used__is_said_once) {
    setenv("FCI_COPY", "both", 1);
    const std::string why = refusal();
    unsetenv("FCI_COPY");
    EXPECT_NE(why.find("FCI_COPY='both' in the environment is not usable"), std::string::npos)
        << why;
}

}  // namespace
}  // namespace fci::openmpi
