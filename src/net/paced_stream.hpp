// SPDX-License-Identifier: Apache-2.0
// A stream that can wait for its reader: the source keeps what comes next (a log file), so that a
// client that stops reading costs a bounded buffer and is let be, as a kubelet does. A watch cannot
// wait: its source moves on, and who does not keep up is cut off.
#pragma once

#include "net/http.hpp"

namespace athanor::apiserver {

class PacedStream : public Stream {};

}  // namespace athanor::apiserver
