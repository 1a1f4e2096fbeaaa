// SPDX-License-Identifier: Apache-2.0
// Small controllers of kinds that AppWrappers wrap, for the lab (docs/spec/appwrapper.md 9.2): pods
// with the labels of their projects, suspend, success and failure.
#pragma once

#include <span>

#include "runtime/view/operator.hpp"

namespace athanor::wrapped {

// Returns the controller of one kind; so do the next four.
const Operator& job_set_operator();
const Operator& pytorch_job_operator();
const Operator& ray_cluster_operator();
const Operator& ray_job_operator();
const Operator& leader_worker_set_operator();

// Returns all of them.
std::span<const Operator* const> operators();

}  // namespace athanor::wrapped
