//===- BlockMapPicture.cpp - Block maps as SVG ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only integers are written, whose text does not depend on a locale: blocks are
// in keys and rows, which a nested viewBox scales.
//
//===----------------------------------------------------------------------===//

#include "lib/BlockMap/BlockMap.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

// In pixels.
constexpr int64_t kLongSide = 480, kLeastSide = 24, kLeft = 80, kRight = 40,
                  kTop = 56, kBottom = 24, kLegend = 32, kLine = 14,
                  kLabel = 60;

struct Look {
  BlockKind kind;
  StringRef name, color;
};
constexpr StringLiteral kEmptyColor = "#f3f3f3";
constexpr Look kLooks[] = {
    {BlockKind::Full, "full", "#1f4e8c"},
    {BlockKind::Partial, "partial", "#f2a541"},
    {BlockKind::Unknown, "known when it runs", "#9aa0a6"},
    {BlockKind::Empty, "empty", kEmptyColor},
};

/// Names of functions may hold any bytes.
std::string escape(StringRef text) {
  std::string printable, escaped;
  llvm::raw_string_ostream printableStream(printable);
  llvm::printEscapedString(text, printableStream);
  llvm::raw_string_ostream escapedStream(escaped);
  llvm::printHTMLEscaped(printable, escapedStream);
  return escaped;
}

class Picture {
public:
  explicit Picture(llvm::raw_ostream &os) : os(os) {}

  void draw(ArrayRef<BlockMap> maps);

private:
  /// A map and one of its patterns; null if it has no blocks.
  struct Plot {
    const BlockMap &map;
    const BlockPattern *pattern;
    int64_t width, height;
  };

  static Plot makePlot(const BlockMap &map, const BlockPattern *pattern);
  void drawLegend();
  void drawPlot(const Plot &plot, int64_t top);
  void drawBlocks(const Plot &plot, const Look &look);
  void drawAxes(const Plot &plot, int64_t top);
  void write(int64_t x, int64_t y, const Twine &text, StringRef anchor = {}) {
    os << "<text x=\"" << x << "\" y=\"" << y << '"';
    if (!anchor.empty())
      os << " text-anchor=\"" << anchor << '"';
    os << '>' << escape(text.str()) << "</text>\n";
  }

  llvm::raw_ostream &os;
};

/// A side of `size` rows beside one of `other`.
int64_t scale(int64_t size, int64_t other) {
  if (size >= other)
    return kLongSide;
  // Up to 2^60 rows.
  auto share = double(size) / double(other);
  return std::max(kLeastSide, int64_t(double(kLongSide) * share));
}

/// Pixels of `part` rows out of `size`.
int64_t place(int64_t part, int64_t size, int64_t pixels) {
  return int64_t(double(part) / double(size) * double(pixels));
}

} // namespace

Picture::Plot Picture::makePlot(const BlockMap &map,
                                const BlockPattern *pattern) {
  if (!pattern || map.numQueries == 0 || map.numKeys == 0)
    return {map, nullptr, kLongSide, 0};
  return {map, pattern, scale(map.numKeys, map.numQueries),
          scale(map.numQueries, map.numKeys)};
}

/// From label to label of an axis of `size` rows.
static int64_t findStep(int64_t size, int64_t pixels) {
  int64_t numLabels = std::max<int64_t>(1, pixels / kLabel);
  return int64_t(
      llvm::bit_ceil(llvm::divideCeil(uint64_t(size), uint64_t(numLabels))));
}

void Picture::drawLegend() {
  int64_t x = kLeft;
  for (const Look &look : kLooks) {
    os << "<rect x=\"" << x << "\" y=\"10\" width=\"12\" height=\"12\" fill=\""
       << look.color << "\" stroke=\"#666\"/>\n";
    write(x + 18, 20, look.name);
    x += 40 + 7 * int64_t(look.name.size());
  }
}

/// All blocks of a kind as one path; neighbours in a row as one rectangle.
void Picture::drawBlocks(const Plot &plot, const Look &look) {
  if (look.kind == BlockKind::Empty) // As the ground.
    return;
  std::string path;
  llvm::raw_string_ostream d(path);
  for (auto [index, row] : llvm::enumerate(plot.pattern->rows)) {
    int64_t y = plot.map.getFirstQuery(int64_t(index));
    int64_t height = plot.map.getFirstQuery(int64_t(index) + 1) - y;
    ArrayRef<BlockKind> blocks = row.blocks;
    for (size_t first = 0, last; first < blocks.size(); first = last) {
      last = first + 1;
      if (blocks[first] != look.kind)
        continue;
      while (last < blocks.size() && blocks[last] == look.kind)
        ++last;
      int64_t x = row.firstKey + int64_t(first) * plot.map.keyBlock;
      int64_t end = row.firstKey + int64_t(last) * plot.map.keyBlock;
      int64_t width = std::min(end, row.endKey) - x;
      d << 'M' << x << ' ' << y << 'h' << width << 'v' << height << 'h'
        << -width << 'z';
    }
  }
  if (!path.empty())
    os << "<path fill=\"" << look.color << "\" d=\"" << path << "\"/>\n";
}

void Picture::drawAxes(const Plot &plot, int64_t top) {
  const BlockMap &map = plot.map;
  int64_t step = findStep(map.numKeys, plot.width);
  for (int64_t key = 0; key < map.numKeys; key += step)
    write(kLeft + place(key, map.numKeys, plot.width), top - 4, Twine(key),
          "middle");
  write(kLeft + plot.width + 6, top - 4, "key");
  step = findStep(map.numQueries, plot.height);
  for (int64_t row = 0; row < map.numQueries; row += step)
    write(kLeft - 4, top + 10 + place(row, map.numQueries, plot.height),
          Twine(plot.pattern->offset + row), "end");
  write(kLeft - 10, top - 4, "position", "end");
}

void Picture::drawPlot(const Plot &plot, int64_t top) {
  const BlockMap &map = plot.map;
  write(kLeft, top + kLine, describeSizes(map));
  if (!map.obstacle.empty()) {
    write(kLeft, top + 2 * kLine,
          "without blocks, by the reference path, because " + map.obstacle);
    return;
  }
  if (!plot.pattern) {
    write(kLeft, top + 2 * kLine, "no blocks");
    return;
  }
  write(kLeft, top + 2 * kLine,
        describePlaces(map, *plot.pattern) + ": " +
            describeShare(map.count(*plot.pattern)));
  top += kTop;
  os << "<rect x=\"" << kLeft << "\" y=\"" << top << "\" width=\"" << plot.width
     << "\" height=\"" << plot.height << "\" fill=\"" << kEmptyColor
     << "\" stroke=\"#666\"/>\n<svg x=\"" << kLeft << "\" y=\"" << top
     << "\" width=\"" << plot.width << "\" height=\"" << plot.height
     << "\" viewBox=\"0 0 " << map.numKeys << ' ' << map.numQueries
     << "\" preserveAspectRatio=\"none\">\n";
  for (const Look &look : kLooks)
    drawBlocks(plot, look);
  os << "</svg>\n";
  drawAxes(plot, top);
}

void Picture::draw(ArrayRef<BlockMap> maps) {
  std::vector<Plot> plots;
  for (const BlockMap &map : maps) {
    for (const BlockPattern &pattern : map.patterns)
      plots.push_back(makePlot(map, &pattern));
    if (map.patterns.empty())
      plots.push_back(makePlot(map, nullptr));
  }
  int64_t width = kLeft + kLongSide + kRight, height = kLegend;
  for (const Plot &plot : plots)
    height += kTop + plot.height + kBottom;
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width
     << "\" height=\"" << height
     << "\" font-family=\"sans-serif\" font-size=\"11\" "
        "shape-rendering=\"crispEdges\">\n"
     << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  drawLegend();
  int64_t top = kLegend;
  for (const Plot &plot : plots) {
    drawPlot(plot, top);
    top += kTop + plot.height + kBottom;
  }
  os << "</svg>\n";
}

void attn::drawBlockMaps(llvm::raw_ostream &os, ArrayRef<BlockMap> maps) {
  Picture(os).draw(maps);
}
