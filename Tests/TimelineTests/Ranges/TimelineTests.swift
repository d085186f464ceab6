/// A small alphabet of positions, and pictures of ranges over it.
///
/// Boundary `k` is the `k`-th of 48: three to a tick (before the tick, and two
/// messages in it), so ranges meet inside ticks as well as between them.
import Base
import Timeline

func boundary(_ index: Int) -> Position {
  Position(time: Int64(index / 3), id: index % 3 == 0 ? [] : [UInt8(0x60 + index % 3)])
}

func at(_ time: Int64, _ id: String) -> Position {
  Position(time: time, id: Array(id.utf8))
}

extension SpanSet {
  /// One line, as `[0 5] - [9 12]`: the boundaries of each span.
  var picture: String {
    spans.map { span in
      let low = (0..<49).first { boundary($0) == span.low }.map(String.init) ?? "?"
      let high = (0..<49).first { boundary($0) == span.high }.map(String.init) ?? "?"
      return "[\(low) \(high)]"
    }.joined(separator: " - ")
  }
}

/// The obvious model: one bit for each of the 48 cells between boundaries.
struct Bitmap {
  var cells = [Bool](repeating: false, count: 48)

  /// Runs of set cells in `range`, or of unset ones.
  func runs(_ range: Range<Int>, of wanted: Bool = true) -> [Range<Int>] {
    var found: [Range<Int>] = []
    for cell in range where cells[cell] == wanted {
      if let last = found.last, last.upperBound == cell {
        found[found.count - 1] = last.lowerBound..<cell + 1
      } else {
        found.append(cell..<cell + 1)
      }
    }
    return found
  }

  var picture: String {
    runs(0..<48).map { "[\($0.lowerBound) \($0.upperBound)]" }.joined(separator: " - ")
  }
}
