// SPDX-License-Identifier: Apache-2.0
// GpuModes: does on the node what sharing a GPU or a slice takes (docs/spec/das.md 15.2): commands
// when a GPU enters or leaves a mode, and a daemon that runs meanwhile, or while a slice has
// shares.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::agent {

// Thread-safe. Daemons outlive the object: the next one finds them again by their record in the
// state folder.
class GpuModes {
 public:
  explicit GpuModes(std::string state_folder);
  GpuModes(const GpuModes&) = delete;
  GpuModes& operator=(const GpuModes&) = delete;
  ~GpuModes();

  // Takes over the modes that a run before published.
  void adopt(const std::vector<das::SharedGpu>& gpus);
  // Brings every GPU into its mode; those that are not listed leave theirs. Returns by UUID what
  // could not be done: a sentence.
  std::map<std::string, std::string> apply(const std::vector<das::SharedGpu>& gpus,
                                           const das::Vendor& vendor);
  // Checks that a GPU is shared. Errors: it is not in its mode, or its daemon does not run.
  [[nodiscard]] Result<void> ready(const std::string& uuid) const;
  // Does what shares of a slice take, unless that is done. `part`: see das::ShareClaim::part().
  Result<void> start_slice(const std::string& part, const das::ModeWork& work);
  // Ends what start_slice() began, here or in a run before.
  void end_slice(const std::string& part, const das::ModeWork& work);
  // Returns the folder in which vendors' work takes place.
  [[nodiscard]] const std::string& state_folder() const;
  // Looks whether daemons run and starts those that ended again. Returns true if a GPU became
  // usable or ceased to be.
  bool tend();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
