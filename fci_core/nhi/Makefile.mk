# nhi: the network interface, App. C. Headers only.
noinst_HEADERS += \
	%D%/network_interface.h \
	%D%/transfer.h \
	%D%/types.h
