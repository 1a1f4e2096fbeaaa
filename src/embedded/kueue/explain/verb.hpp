// SPDX-License-Identifier: Apache-2.0
// athanor queues: quota and use of every queue, and why a job waits.
#pragma once

#include "runtime/view/verb.hpp"

namespace athanor::kueue {

// Returns the command `athanor queues` with its flags and help.
Verb queues_verb();

}  // namespace athanor::kueue
