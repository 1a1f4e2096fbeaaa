// SPDX-License-Identifier: Apache-2.0
// Subjects: "KIND/NAME" of the command line, with the words that name a kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace athanor::views {

// Kinds that describe and wait know.
enum class Subject : std::uint8_t {
  Job,
  Cluster,
  Queue,
  AppWrapper,
  Slices,
  Zones,
  Workload,
  Schedule
};

struct SubjectName {
  Subject kind = Subject::Job;
  std::string name{};
};

// Reads the word for a kind ("jobs", "fournosjob.fournos.dev"). Errors (wrong usage): unknown.
Result<Subject> parse_subject_kind(std::string_view word);
// Reads "jobs/a", "job a b" and their like; a word without a kind is a job. Errors (wrong usage):
// an unknown kind, a missing name.
Result<std::vector<SubjectName>> parse_subjects(const std::vector<std::string>& words);

}  // namespace athanor::views
