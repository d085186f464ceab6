/// A function for SQL that tells how often a hit of the index has each piece of a query.
internal import CSQLite
internal import Support

/// `tideline_counts(search, pieces, phrases of the last one)`: a byte for each piece. Phrases of an
/// expression are numbered as they stand in it: one for each piece but the last, those of the last,
/// then what is excluded and what filters ask, which do not count.
enum SearchCounts {
  static let name: StaticString = "tideline_counts"
  private static let piecesMax = 32

  static let function:
    @convention(c) (
      UnsafePointer<Fts5ExtensionApi>?, OpaquePointer?, OpaquePointer?, Int32,
      UnsafeMutablePointer<OpaquePointer?>?
    ) -> Void = { api, hit, result, count, values in
      guard let api = unsafe api?.pointee, let values = unsafe values, count == 2,
        let countInstances = unsafe api.xInstCount, let instance = unsafe api.xInst
      else { return unsafe sqlite3_result_error_code(result, SQLITE_MISUSE) }
      let pieces = Int(clamping: unsafe sqlite3_value_int(values[0])).bounded(to: piecesMax)
      let last = Int(clamping: unsafe sqlite3_value_int(values[1])).bounded(to: .max)
      var instances: Int32 = 0
      var code = unsafe countInstances(hit, &instances)
      unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: pieces) { counts in
        unsafe counts.initialize(repeating: 0)
        var index: Int32 = 0
        while code == SQLITE_OK, index < instances {
          var (phrase, column, offset): (Int32, Int32, Int32) = (0, 0, 0)
          code = unsafe instance(hit, index, &phrase, &column, &offset)
          index &+= 1
          let number = Int(clamping: phrase)
          guard number >= 0, number < pieces &- 1 &+ last else { continue }
          let piece = Swift.min(number, pieces &- 1)
          if unsafe counts[piece] < .max { unsafe counts[piece] &+= 1 }
        }
        if code == SQLITE_OK {
          unsafe sqlite3_result_blob64(
            result, counts.baseAddress, UInt64(clamping: pieces), tideline_transient())
        } else {
          unsafe sqlite3_result_error_code(result, code)
        }
      }
    }
}

/// A function for SQL: what a token of a hit sums up to, at all places that it has in the row.
///
/// `tideline_sum(search, hash of the token)`, where the query is that one token.
enum SearchSum {
  static let name: StaticString = "tideline_sum"

  static let function:
    @convention(c) (
      UnsafePointer<Fts5ExtensionApi>?, OpaquePointer?, OpaquePointer?, Int32,
      UnsafeMutablePointer<OpaquePointer?>?
    ) -> Void = { api, hit, result, count, values in
      guard let api = unsafe api?.pointee, let values = unsafe values, count == 1,
        let countInstances = unsafe api.xInstCount, let instance = unsafe api.xInst,
        let rowid = unsafe api.xRowid
      else { return unsafe sqlite3_result_error_code(result, SQLITE_MISUSE) }
      let hash = UInt64(bitPattern: unsafe sqlite3_value_int64(values[0]))
      let place = unsafe rowid(hit)
      var (instances, index, sum): (Int32, Int32, UInt64) = (0, 0, 0)
      var code = unsafe countInstances(hit, &instances)
      while code == SQLITE_OK, index < instances {
        var (phrase, column, offset): (Int32, Int32, Int32) = (0, 0, 0)
        code = unsafe instance(hit, index, &phrase, &column, &offset)
        index &+= 1
        sum &+= TokenSum.term(hash, place: place, offset: Int64(clamping: offset))
      }
      if code == SQLITE_OK {
        unsafe sqlite3_result_int64(result, Int64(bitPattern: sum))
      } else {
        unsafe sqlite3_result_error_code(result, code)
      }
    }
}

extension Int {
  /// At least one.
  fileprivate func bounded(to most: Int) -> Int { Swift.min(Swift.max(self, 1), most) }
}
