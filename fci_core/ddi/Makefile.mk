# ddi: the device behind the interface, section 3.2.3. Headers only.
noinst_HEADERS += \
	%D%/agreement.h \
	%D%/card.h \
	%D%/device.h \
	%D%/driver.h
