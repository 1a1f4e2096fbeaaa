// SPDX-License-Identifier: Apache-2.0
// A FournosJob with what follows from its spec alone: dialect, effective booleans
// (docs/spec/fournos.md 2.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {

// Spec dialects: Seed has spec.forge, Engine spec.executionEngine (docs/spec/fournos.md 2.5).
enum class Dialect : std::uint8_t { Seed, Engine };

// A FournosJob with its dialect and the effective values of its booleans.
struct Job {
  api::FournosJob typed{};
  Dialect dialect = Dialect::Engine;
  bool lock_only = false;
  bool clusterless = false;
  bool exclusive = false;  // takes every slot; true for a lock

  [[nodiscard]] const Object& object() const { return typed.object; }
  [[nodiscard]] const api::FournosJobSpec& spec() const { return typed.spec; }
  [[nodiscard]] const api::FournosJobStatus& status() const { return typed.status; }
  [[nodiscard]] std::string name() const { return std::string(object().name()); }
  [[nodiscard]] std::string ns() const { return std::string(object().ns()); }
  [[nodiscard]] std::string uid() const { return std::string(object().uid()); }
  [[nodiscard]] Ref ref() const { return {&api::kFournosJob, object().key()}; }
  // Returns the cluster that the job is held to; empty: any that fits, also once it was redirected.
  [[nodiscard]] const std::string& pinned_cluster() const;
  // GPUs are asked for when both type and count are given.
  [[nodiscard]] bool wants_gpus() const;
  // Returns the engine settings that a seed pipeline reads: spec.forge, or executionEngine.forge.
  [[nodiscard]] const Value& forge() const;
};

// Derives the dialect and the effective booleans from the spec.
Job effective(api::FournosJob typed);

// Returns true for Succeeded, Failed and Stopped.
bool is_terminal(std::string_view phase);
// Returns when a job ended. The exact upstream schemas have no completionTime, but conditions that
// change at the end.
Instant ended_at(const Object& job);
// Returns true for phases in which an exclusive job occupies its cluster: Admitted, Running,
// Stopping.
bool holds_lock(std::string_view phase);

// One run of the operator on one job: what every phase is given.
struct Context {
  const View& view;
  const Settings& settings;
  const Job& job;
  Instant now{};
};

}  // namespace athanor::fournos
