// SPDX-License-Identifier: Apache-2.0
// Metadata that a job's children share (docs/spec/fournos.md section 1). Private to this folder.
#pragma once

#include <cstdint>
#include <string_view>

#include "kube/value/value.hpp"
#include "systems/fournos/job.hpp"

namespace athanor::fournos {

// Whether the owner reference names the job as controller.
enum class Control : std::uint8_t { Controller, Plain };

// Returns the two labels that identify everything that belongs to a job (R1.1).
Value job_labels(const Job& job);
// Returns name, namespace, labels and the owner reference.
Value child_metadata(const Job& job, std::string_view child_name, Control control);

}  // namespace athanor::fournos
