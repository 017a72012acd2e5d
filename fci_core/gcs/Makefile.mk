# SPDX-License-Identifier: BSD-3-Clause
# gcs: request blocks and their layout, sections 2.5 and 2.6.6. Headers only.
noinst_HEADERS += \
	%D%/cell_lender.h \
	%D%/cells.h \
	%D%/layout.h \
	%D%/line.h \
	%D%/line_reader.h \
	%D%/line_writer.h \
	%D%/piece_pool.h \
	%D%/request_block.h \
	%D%/ring_writer.h
