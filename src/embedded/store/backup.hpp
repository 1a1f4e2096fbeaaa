// SPDX-License-Identifier: Apache-2.0
// One file that holds all of a data directory that matters, and the way back.
//
// The file is a SQLite database: objects as the store has them, and the small files beside it
// (certificates, keys, tokens). It holds private keys; only its owner can read it. History is left
// out: a restored store answers 410 for revisions of before, as watches must not continue over the
// gap, and its own revisions start above any that the backup's origin may have given out since.
#pragma once

#include <string>

#include "base/result.hpp"

namespace athanor::store {

// Backs the store up, consistent as of one commit, also while a server works in the directory
// (which it never makes wait). Replaces `file` at the end, or leaves it as it was. Error NotFound:
// `data` holds no store.
Result<void> backup(const std::string& data, const std::string& file);

// Makes the data directory; AlreadyExists when it holds a store, Locked when a server has it,
// DataCorrupted when the file is no complete backup. Nothing is left behind by a failure but files
// that a second try replaces.
Result<void> restore(const std::string& file, const std::string& data);

}  // namespace athanor::store
