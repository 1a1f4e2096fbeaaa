// SPDX-License-Identifier: Apache-2.0
// The folder of CDI files, and beside them the agent's records: the slices that it made, and the
// exchange of claims that it began.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/slice_record.hpp"

namespace athanor::agent {

// Thread-safe as far as the file system is: every write is whole or not there.
class CdiFolder {
 public:
  explicit CdiFolder(std::string path) : path_(std::move(path)) {}

  // Writes "<name>.tmp" and renames it; makes the folder when it is missing. A file with the same
  // text is left alone.
  [[nodiscard]] Result<void> write(const das::CdiSpec& spec) const;
  void remove(const das::CdiSpec& spec) const;
  [[nodiscard]] bool has(const das::CdiSpec& spec) const;
  // Returns all readable files of ours.
  [[nodiscard]] std::vector<das::CdiSpec> files() const;

  // Files of ResourceClaims, by uid.
  [[nodiscard]] Result<void> write_claim(const std::string& uid, const std::string& text) const;
  void remove_claim(const std::string& uid) const;
  [[nodiscard]] std::vector<std::string> claims() const;

  [[nodiscard]] Result<void> write_records(const std::vector<das::SliceRecord>& records) const;
  [[nodiscard]] std::vector<das::SliceRecord> records() const;
  // Writes or reads the exchange of claims under way (das::Exchange); an empty text: none.
  [[nodiscard]] Result<void> write_exchange(const std::string& text) const;
  [[nodiscard]] std::string exchange() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<void> put(const std::string& name, const std::string& text) const;

  std::string path_;
};

// Returns the whole file; an empty text: it cannot be read.
std::string read_text(const std::string& path);

}  // namespace athanor::agent
