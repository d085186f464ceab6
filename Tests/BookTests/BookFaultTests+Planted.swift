/// The faults, and the worlds that find them. Those of B5, B6, B7, B9 and B10 no world of 60 shows:
/// `BookPictureTests` does.
import BookSupport

extension BookFaultTests {
  static let planted: [Planted] = [
    Planted(rule: "B1", worlds: .time, book: .pagesDoNotLink, seeds: 0..<3),
    Planted(rule: "B2", worlds: .time, book: .absentStays, seeds: 0..<3),
    Planted(rule: "B3", worlds: .ties, book: .laterDoesNotCut, seeds: 15..<25),
    Planted(rule: "B4", worlds: .time, book: .endsLoseLinks, seeds: 0..<3),
    Planted(rule: "B8", worlds: .time, book: .pushesLink, seeds: 0..<3),
    Planted(rule: "B11", worlds: .time, book: .purgeKeepsLinks, seeds: 0..<10),
    Planted(rule: "B12", worlds: .time, book: .unreadableIsNothing, seeds: 0..<3),
    Planted(rule: "T1, T2", worlds: .time, pagers: .noOverlap, seeds: 0..<3),
    Planted(rule: "T3, links", worlds: .ties, pagers: .keepsUnsettled, seeds: 0..<10),
    Planted(rule: "T3, the way down", worlds: .time, pagers: .owesNothing, seeds: 0..<3),
    Planted(rule: "T4", worlds: .unordered, pagers: .noAnchors, seeds: 0..<15),
    Planted(rule: "T5", worlds: .time, pagers: .oneDirection, seeds: 0..<4),
    Planted(rule: "T5, kinds", worlds: .time, pagers: .directionOfAll, seeds: 0..<4),
    Planted(rule: "T6", worlds: .unordered, pagers: .shuffledIsOrdered, seeds: 0..<15),
    Planted(rule: "T7", worlds: .unordered, pagers: .contradictionsCount, seeds: 15..<30),
    Planted(rule: "N2", worlds: .numbers, pagers: .selectionsProveAll, seeds: 0..<5),
    Planted(rule: "N3", worlds: .numbers, pagers: .holesAreIgnored, seeds: 15..<25),
    Planted(rule: "A2", worlds: .time, pagers: .noSecondLook, seeds: 0..<3),
    Planted(rule: "A3", worlds: .time, pagers: .restoreKeepsLinks, seeds: 30..<35),
    Planted(rule: "D1", worlds: .time, pagers: .oneWatermark, seeds: 45..<50),
  ]

  static let plantedInLog: [PlantedInLog] = [
    PlantedInLog(rule: "B3 in a log", book: .laterDoesNotCut, seeds: 0..<3),
    PlantedInLog(rule: "L1", faults: .tokensStandAtEnds, seeds: 5..<15),
    PlantedInLog(rule: "L2", faults: .oldTokensCount, seeds: 50..<60),
    PlantedInLog(rule: "L4", faults: .gapsAreIgnored, seeds: 0..<8),
    PlantedInLog(rule: "L5", faults: .absentStays, seeds: 0..<3),
  ]
}
