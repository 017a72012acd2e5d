// SPDX-License-Identifier: BSD-3-Clause
// Processes on a network: where they listen, what they say of it, and FCI_NET through the C face.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "fci_core/ddi/card.h"
#include "test/unit/api/context.h"
#include "test/unit/limit.h"

namespace fci {
namespace {

/// Messages go over loopback only.
struct OnNetwork : testing::Test {
    ~OnNetwork() override {
        unsetenv("FCI_NET");
        unsetenv("FCI_INFO");
    }
    static void set_network(const std::string& text) { setenv("FCI_NET", text.c_str(), 1); }
    Context open(const char* host = nullptr) {
        fci_icl_config config{};
        config.version = FCI_ICL_VERSION;
        config.driver = "tcp";
        config.job = 4712;
        ddi::Card card;
        if (host != nullptr) card.host = inet_addr(host);
        std::memcpy(config.card, &card, sizeof card);
        fci_icl_context* context = nullptr;
        char* text = nullptr;
        code = fci_icl_open(&config, &context, &text);
        error = text != nullptr ? text : "";
        std::free(text);
        return Context(context);
    }

    int code = FCI_ICL_OK;
    std::string error;
};

TEST_F(OnNetwork, open__says_where_and_why) {
    set_network("lo");
    setenv("FCI_INFO", "on", 1);
    testing::internal::CaptureStderr();
    const Context context = open();
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_NE(context, nullptr) << error;
    EXPECT_NE(said.find(", driver tcp (asked for) at 127.0.0.1 (lo), protocol "), std::string::npos)
        << said;
    EXPECT_NE(said.find("\nfci: 127.0.0.1 (lo): loopback, as FCI_NET=lo says: only processes on "
                        "this host can be reached"),
              std::string::npos)
        << said;
    const char* const summary = fci_icl_summary(context.get());
    EXPECT_NE(std::strstr(summary, "tcp (asked for) at 127.0.0.1 (lo)"), nullptr);
}

TEST_F(OnNetwork, open__two_that_chose_loopback_meet) {
    set_network("127.0.0.0/8");
    const Context one = open(), other = open();
    ASSERT_TRUE(one && other) << error;
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(other.get(), card);
    fci_icl_peer peer = 0;
    ASSERT_EQ(fci_icl_add_peer(one.get(), card, &peer), FCI_ICL_OK);
    fci_icl_order order = 0;
    ASSERT_GE(fci_icl_send_bytes(one.get(), peer, 0, 0, 7, 0, "met", 4, nullptr, &order), 0);
    struct fci_icl_status status {};
    char data[4] = "";
    const int posted = fci_icl_receive_bytes(other.get(), FCI_ICL_ANY_SOURCE, 0, 7, 0, data,
                                             sizeof data, nullptr, &order, &status);
    ASSERT_GE(posted, 0);
    for (Limit limit("a message"); std::strcmp(data, "met") != 0 && limit.holds();) {
        fci_icl_progress(one.get());
        fci_icl_progress(other.get());
    }
    EXPECT_STREQ(data, "met");
}

TEST_F(OnNetwork, open__what_fits_nothing_is_an_error_at_once) {
    for (const std::string& bad : {std::string("nosuch"), std::string("nosuch*"),
                                   std::string("10.0.0.0/33"), std::string("192.0.2.255/32"),
                                   std::string("/"), std::string("\xff"), std::string("läpp"),
                                   std::string(100'000, 'x'), std::string("::1")}) {
        set_network(bad);
        EXPECT_EQ(open(), nullptr) << bad.substr(0, 20);
        EXPECT_EQ(code, FCI_ICL_EINVAL);
        EXPECT_NE(error.find("FCI_NET='"), std::string::npos) << error;
        EXPECT_NE(error.find("lo 127.0.0.1/8"), std::string::npos) << error;
        const char* line = nullptr;
        EXPECT_EQ(fci_icl_network(&line), FCI_ICL_ENOENT);
        EXPECT_EQ(line, error);
    }
}

TEST_F(OnNetwork, open__an_address_that_the_program_names_comes_first) {
    set_network("nosuch");
    const Context context = open("127.0.0.1");
    ASSERT_NE(context, nullptr) << error;
    const char* const summary = fci_icl_summary(context.get());
    EXPECT_NE(std::strstr(summary, "driver tcp (asked for) at 127.0.0.1,"), nullptr);
}

TEST_F(OnNetwork, open__an_empty_variable_is_none) {
    set_network("");
    EXPECT_NE(open(), nullptr) << error;
}

TEST_F(OnNetwork, interface__all_of_this_host) {
    set_network("lo");
    struct fci_icl_interface row {};
    unsigned rows = 0, chosen = 0;
    for (; fci_icl_interface(rows, &row) == FCI_ICL_OK; ++rows) {
        EXPECT_STRNE(row.why, "") << row.name;
        if (row.chosen == 0) continue;
        ++chosen;
        EXPECT_STREQ(row.name, "lo");
        EXPECT_STREQ(row.address, "127.0.0.1/8");
    }
    EXPECT_GE(rows, 1u);
    EXPECT_EQ(chosen, 1u);
    const char* line = nullptr;
    EXPECT_EQ(fci_icl_network(&line), FCI_ICL_OK);
    EXPECT_EQ(std::string(line).find("127.0.0.1 (lo): "), 0u) << line;
}

}  // namespace
}  // namespace fci
