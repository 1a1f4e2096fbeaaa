// SPDX-License-Identifier: Apache-2.0
#include "cli/lab/remembered_lab.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "kube/text/json.hpp"
#include "net/private_file.hpp"

namespace athanor::cli {
namespace {

std::string record_of(const std::string& data) {
  return data + "/lab.json";
}

std::string named(const LabFile& file) {
  return file.path.empty() ? "the built-in lab" : file.path;
}

// Links and ".." lead to one name, so that one file is never taken for two.
std::string whole_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  return error ? path : whole.string();
}

}  // namespace

Result<std::optional<LabFile>> remembered_lab(const std::string& data) {
  const std::string record = record_of(data);
  std::error_code error;
  if (!std::filesystem::exists(record, error)) {
    return std::optional<LabFile>();
  }
  ATHANOR_TRY(const std::string text, read_text_file(record));
  const auto value = json::parse(text);
  if (!value.ok() || !(*value)["path"].is_string() || !(*value)["text"].is_string()) {
    return Error::bad_request(
        fmt::format("{}: damaged; delete it and name the lab file with --lab once more", record));
  }
  const std::string path = (*value)["path"].str();
  return std::optional(LabFile{.path = path, .name = path, .text = (*value)["text"].str()});
}

Result<void> remember_lab(const std::string& data, const LabFile& file) {
  const Value record = Value::object({{"path", file.path}, {"text", file.text}});
  return net::write_private_file(record_of(data), json::print(record));
}

Result<LabFile> choose_lab(const std::string& data, const std::string& wanted, OtherLab other) {
  std::optional<LabFile> known;
  if (!data.empty()) {
    ATHANOR_TRY(known, remembered_lab(data));
  }
  if (wanted.empty()) {
    if (!known || known->path.empty()) {
      return LabFile{};
    }
    const auto text = read_text_file(known->path);
    return LabFile{
        .path = known->path, .name = known->path, .text = text.ok() ? *text : known->text};
  }
  ATHANOR_TRY(std::string text, read_text_file(wanted));
  LabFile chosen{.path = whole_path(wanted), .name = wanted, .text = std::move(text)};
  if (known && known->path != chosen.path && other == OtherLab::Refuse) {
    return Error::bad_request(
        fmt::format("{} was made with {}, and its objects would stay beside those of {}.\nStart it "
                    "without --lab, give the other lab a "
                    "folder of its own (--data), or apply both with --merge-lab",
                    data, named(*known), wanted));
  }
  return chosen;
}

}  // namespace athanor::cli
