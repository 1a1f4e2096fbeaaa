// SPDX-License-Identifier: Apache-2.0
// The journal on disk: current objects and recent history in a SQLite database
// (docs/spec/foundations.md 4).
//
// Durability. One thread drains the queue of commits into one transaction (group commit, WAL,
// synchronous=FULL) and reports them done after it. A crash at any instant leaves every reported
// commit and no half of another.
//
// Revisions. They never go back and are never used twice: a clean shutdown stores the last one;
// after any other end the next start continues 1,000,000 above the last one on disk.
//
// Full disk and other I/O errors. The commits of the failed group are reported failed, yet their
// effects are visible in memory already. Their events stay pending, writable() answers the error
// (so the store accepts no further commit), and they are written again every probe interval. When
// that works, memory and disk agree again and commits are accepted.
//
// Loss. A damaged or missing write-ahead log leaves an older database that looks whole. With a mark
// (revision_mark.hpp) recover() refuses to start older than what was acknowledged, and leaves the
// files as they are. `repair` accepts the loss: revisions continue above the lost ones, and no
// watch continues over them.
//
// History (history.hpp). A transaction's events are one more row in it, so history and objects
// agree after any crash, and watches continue behind a restart.
//
// Events (resources `events` and `events.events.k8s.io`) live in memory only unless asked for;
// their commits wait for no disk. They are in the history, as watches need them within one run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "embedded/store/history.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// Settings of the journal.
struct SqliteOptions {
  std::string path{};  // of the database file
  // File that keeps the newest acknowledged revision outside the database; empty: none.
  std::string mark{};
  // What the refusal of a store that lost writes names as the way out.
  std::string way_out = "start with --repair to go on without them";
  bool sync = true;             // false: survives a crash of the process, not of the machine
  bool journal_events = false;  // keep Events across restarts, too
  // Salvage what is readable of a damaged database into a new one (salvage.hpp), with a warning
  // for each lost object, and accept lost writes, instead of refusing to start.
  bool repair = false;
  HistoryLimits history{};
  std::int64_t max_pages = 0;  // upper bound of the database's size in pages of 4 KiB; 0: none
  std::chrono::milliseconds probe_interval{1000};  // between retries after a failure
};

// Opens nothing before recover(). Errors of recover(): DataCorrupted names the keys of damaged
// rows, or the acknowledged revision that is gone; InternalError for everything else.
std::unique_ptr<Journal> sqlite_journal(SqliteOptions options);

}  // namespace athanor::store
