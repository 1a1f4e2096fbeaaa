// SPDX-License-Identifier: Apache-2.0
// Common parts of vendors: reading modes, filling GPUs with shares.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systems/das/makers/vendor.hpp"

namespace athanor::das {

// Reads a whole number from 0 to `most`.
std::optional<int> read_number(std::string_view text, int most);
// Removes and returns the part before `separator`, which goes, too.
std::string_view take_part(std::string_view& text, char separator);

// Describes a model without slots: it is divided as a whole.
GpuModel whole_model(std::string_view type, std::string_view maker, std::string_view key, int gib);

enum class Together : std::uint8_t { No, Container };  // all shares of a container on one part
// Returns places on the fullest healthy GPU with room for each request, there in the fullest slice
// where slices are shared, in order; empty: they do not fit.
std::vector<SharePlace> fill_gpus(const Vendor& vendor, std::vector<SharedGpu> gpus,
                                  const std::vector<ShareRequest>& requests,
                                  Together (*together)(std::string_view resource));

// Returns the claim's spec.share of a GPU that is divided into equal parts.
Value equal_share(const SharedGpu& gpu, int index);

// Returns "0,1,2".
std::string count_up(std::size_t count);

}  // namespace athanor::das
