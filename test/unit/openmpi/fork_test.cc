// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/fork.c: a child that uses MPI of its parent is told so, and ended.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Fork : public Ends {
protected:
    /// How a child ends that does this.
    static int code_of(const std::function<void()>& use) {
        const pid_t child = fork();
        if (child == 0) {
            use();
            _exit(said().empty() ? 7 : 8);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
};

TEST_F(Fork, child_that_uses_mpi__is_ended) {
    meet();
    char buffer = 'x';
    int flag = 0;
    MPI_Request request = MPI_REQUEST_NULL, persistent;
    MPI_Message message;
    ASSERT_EQ(MPI_Recv_init(&buffer, 1, MPI_CHAR, 1, 1, comm_, &persistent), MPI_SUCCESS);
    const std::vector<std::function<void()>> uses = {
        [&] { MPI_Send(&buffer, 1, MPI_CHAR, 1, 1, comm_); },
        [&] { MPI_Isend(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request); },
        [&] { MPI_Send_init(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request); },
        [&] { MPI_Recv(&buffer, 1, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE); },
        [&] { MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request); },
        [&] { MPI_Recv_init(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request); },
        [&] { MPI_Start(&persistent); },
        [&] { MPI_Probe(1, 1, comm_, MPI_STATUS_IGNORE); },
        [&] { MPI_Iprobe(1, 1, comm_, &flag, MPI_STATUS_IGNORE); },
        [&] { MPI_Mprobe(1, 1, comm_, &message, MPI_STATUS_IGNORE); },
        [&] { MPI_Improbe(1, 1, comm_, &flag, &message, MPI_STATUS_IGNORE); },
        [&] {
            const near_card card{};
            near_communicator(context_id_ + 1, 1, 0, &card);
        },
    };
    for (std::size_t i = 0; i < uses.size(); ++i) EXPECT_EQ(code_of(uses[i]), 1) << i;
    MPI_Request_free(&persistent);
}

TEST_F(Fork, child_that_does_not__goes_on_and_so_does_its_parent) {
    meet();
    EXPECT_EQ(code_of([] {
                  near_turn();
                  EXPECT_EQ(near_context(), nullptr);
                  double now = MPI_Wtime();
                  static_cast<void>(now);
              }),
              7);
    far(1).send(1, "x");
    char buffer = '?';
    EXPECT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
}

}  // namespace
}  // namespace fci::openmpi
