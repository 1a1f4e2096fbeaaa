// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/cycle/considered.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace athanor::kueue {
namespace {

std::string_view mode_text(Mode mode) {
  switch (mode) {
    case Mode::NoFit:
      return "NoFit";
    case Mode::NoPreemptionCandidates:
      return "preemptionMode=NoCandidates";
    case Mode::Preempt:
      return "preemptionMode=Preempt";
    case Mode::Reclaim:
      return "preemptionMode=Reclaim";
    case Mode::Fit:
      return "Fit";
  }
  return {};
}

// The texts about one flavor, sorted, each once.
std::vector<std::string> reasons_about(const PodSetAssignment& pod_set, std::string_view flavor) {
  std::vector<std::string> texts;
  for (const std::vector<Reason>* reasons : {&pod_set.reasons, &pod_set.passed_over}) {
    for (const Reason& reason : *reasons) {
      if (reason.flavor == flavor && reason.why != Reason::Why::NotCovered) {
        texts.push_back(reason.text());
      }
    }
  }
  std::ranges::sort(texts);
  const auto doubles = std::ranges::unique(texts);
  texts.erase(doubles.begin(), doubles.end());
  return texts;
}

std::string attempts_of(const PodSetAssignment& pod_set) {
  std::vector<Attempt> attempts = pod_set.attempts;
  std::ranges::sort(attempts, {}, &Attempt::flavor);
  std::string text;
  for (const Attempt& attempt : attempts) {
    if (attempt.mode == Mode::Fit && attempt.borrow_height == 0) {
      continue;
    }
    text +=
        fmt::format("{}{}({}", text.empty() ? "" : ", ", attempt.flavor, mode_text(attempt.mode));
    if (attempt.borrow_height > 0) {
      text += fmt::format(";borrow={}", attempt.borrow_height);
    }
    for (const std::string& reason : reasons_about(pod_set, attempt.flavor)) {
      text += ";" + reason;
    }
    text += ")";
  }
  return text;
}

}  // namespace

std::string considered_flavors(const Assignment& assignment) {
  std::string text;
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    if (const std::string attempts = attempts_of(pod_set); !attempts.empty()) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : " | ", pod_set.name, attempts);
    }
  }
  return text;
}

}  // namespace athanor::kueue
