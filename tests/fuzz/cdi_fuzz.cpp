// SPDX-License-Identifier: Apache-2.0
// CDI files and records of slices, as an agent finds them on a node.
#include "fuzz/fuzz.hpp"
#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/slice_record.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto text = fuzz::text_of(data, size);
  if (const auto spec = das::parse_cdi(text)) {
    const auto again = das::parse_cdi(das::print_cdi(*spec, "/var/run/cdi"));
    ATHANOR_CHECK(again && again->file_name() == spec->file_name() && again->env == spec->env,
                  "a file that is written is read as it was");
    ATHANOR_CHECK(spec->file_name().find('/') == std::string::npos, "files stay in their folder");
  }
  const auto records = das::parse_records(text);
  ATHANOR_CHECK(das::parse_records(das::print_records(records)) == records,
                "records that are written are read as they were");
  (void)das::is_cdi_file(text);
  return 0;
}
