// SPDX-License-Identifier: Apache-2.0
// Labs of this user: a record for each data folder that `athanor up` has used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// One record, and whether its lab runs.
struct LabRecord {
  std::string name{};        // the last part of the data folder; unique in a list
  std::string data{};        // absolute
  std::string kubeconfig{};  // absolute
  std::string address{};     // of its last start
  std::string lab{};         // the lab file; empty: the built-in lab
  std::string started{};     // RFC 3339
  long pid = 0;              // of the running lab; 0: it does not run
  // Returns JSON: {name, data, kubeconfig, address, lab, started, running, pid}.
  [[nodiscard]] Value to_value() const;
};

// Returns the folder of the records: $ATHANOR_LABS, else "labs" beside the default data folder.
std::string lab_records_folder();
// Writes or replaces the record of a lab that has just started.
Result<void> record_lab(const std::string& folder, const LabRecord& record);
// Returns the labs whose data folders exist, by name; labs of one name get a number.
std::vector<LabRecord> read_lab_records(const std::string& folder);
// Returns the titles of a list of labs.
std::vector<std::string> lab_header();
// Returns the cells of one lab in this list.
std::vector<std::string> lab_row(const LabRecord& lab, Instant now);
// Removes the record of a data folder.
void forget_lab(const std::string& folder, const std::string& data);
// Returns the process that holds a data folder; 0: none does.
long holder_of(const std::string& data);

// Finds labs by name or data folder. Errors (wrong usage): no such lab.
Result<std::vector<LabRecord>> choose_labs(const std::vector<LabRecord>& known,
                                           const std::vector<std::string>& names);

// Adds cluster, user and context of `from` to `into` under `name`, replacing those of that name.
// Pure. Errors: `from` has no current context.
Result<Value> merge_context(Value into, const Value& from, const std::string& name);

}  // namespace athanor::cli
