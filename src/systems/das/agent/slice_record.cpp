// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/slice_record.hpp"

#include "kube/text/json.hpp"

namespace athanor::das {

SliceRecord record_of(const Claim& claim, std::string device) {
  return {.claim_uid = std::string(claim.object.uid()),
          .claim = std::string(claim.object.name()),
          .profile = claim.profile,
          .gpu = claim.gpu,
          .start = claim.start,
          .size = claim.size,
          .device = std::move(device)};
}

std::string print_records(const std::vector<SliceRecord>& records) {
  Value list = Value::list();
  for (const SliceRecord& record : records) {
    Value one = Value::object({{"claimUid", record.claim_uid},
                               {"claim", record.claim},
                               {"profile", record.profile},
                               {"gpu", record.gpu},
                               {"start", record.start},
                               {"size", record.size},
                               {"device", record.device}});
    if (record.leaving) {
      one.set("leaving", true);
    }
    list.push_back(std::move(one));
  }
  return json::print(Value::object({{"slices", std::move(list)}})) + "\n";
}

std::vector<SliceRecord> parse_records(std::string_view text) {
  std::vector<SliceRecord> records;
  const auto document = json::parse(text);
  if (!document.ok()) {
    return records;
  }
  for (const Value& one : (*document)["slices"].items()) {
    SliceRecord record{.claim_uid = one["claimUid"].str(),
                       .claim = one["claim"].str(),
                       .profile = one["profile"].str(),
                       .gpu = one["gpu"].str(),
                       .start = static_cast<int>(one["start"].as_int(-1)),
                       .size = static_cast<int>(one["size"].as_int()),
                       .device = one["device"].str(),
                       .leaving = one["leaving"].as_bool()};
    if (!record.claim_uid.empty() && !record.gpu.empty() &&
        mask_of(record.start, record.size) != 0) {
      records.push_back(std::move(record));
    }
  }
  return records;
}

}  // namespace athanor::das
