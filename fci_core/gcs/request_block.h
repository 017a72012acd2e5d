// SPDX-License-Identifier: BSD-3-Clause
// The two typed views of a request block (§2.6.6, §2.6.9), the writer's and the reader's.
//
//   part    | written by            | read by | order
//   slots   | the peer (LineWriter) | owner   | a line's control word last
//   ring    | the peer (LineWriter) | owner   | before the line that announces it
//   credit  | the peer (LineReader)  | owner   | words grow, each whole by itself
//   claims  | both, see ClaimWord    | both    | -
//
// A pair has two blocks. LineWriter writes the one at the peer and reads the credit in the own one;
// LineReader reads the own one and writes the credit at the peer. Neither can write the other's.
#pragma once

#include "fci_core/gcs/line_reader.h"
#include "fci_core/gcs/line_writer.h"
