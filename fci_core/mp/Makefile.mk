# mp: tagged and active messages, sections 2.6.2-2.6.10.
noinst_LTLIBRARIES += libfci_mp.la
libfci_mp_la_SOURCES = \
	%D%/active.cc \
	%D%/arrived_pool.h \
	%D%/awaited.h \
	%D%/cancel.cc \
	%D%/claims.h \
	%D%/copy.h \
	%D%/copy_path.h \
	%D%/key_index.cc \
	%D%/key_index.h \
	%D%/limits.h \
	%D%/line_pool.h \
	%D%/long_message.cc \
	%D%/matching.cc \
	%D%/matching.h \
	%D%/message_passing.cc \
	%D%/message_passing.h \
	%D%/offers.cc \
	%D%/order.h \
	%D%/peer.h \
	%D%/peers.cc \
	%D%/protocol.h \
	%D%/receive.cc \
	%D%/records.h \
	%D%/send.cc \
	%D%/turn.cc
