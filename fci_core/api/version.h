// SPDX-License-Identifier: BSD-3-Clause
// The version of libfci; configure.ac reads it from here.
#pragma once

#define FCI_VERSION_TEXT "0.2.0"
