/// A run in several processes at once. They share no memory, so none waits for another's
/// counts of references, and one that dies takes only its own numbers with it.
///
/// A seed that is run twice is run by two of them: their hashes and addresses differ, and
/// what a seed tells must not depend on those.
import Foundation
import Simulator

/// Which numbers are run, which of them twice, and which part runs them.
struct Plan: Sendable {
  var first: UInt64
  var count: Int
  var parts: Int
  /// Each number that this divides is run twice; 0 for none.
  var step: UInt64

  struct Task: Hashable, Codable, Sendable {
    var number: UInt64
    /// It is the second run of the number.
    var isAgain = false
  }

  func runsTwice(_ number: UInt64) -> Bool {
    step > 0 && number.isMultiple(of: step)
  }

  /// In the order in which they are run.
  func tasks(of part: Int) -> [Task] {
    var tasks: [Task] = []
    for index in 0..<count {
      let number = first + UInt64(index)
      if index % parts == part { tasks.append(Task(number: number)) }
      if runsTwice(number), (index + 1) % parts == part {
        tasks.append(Task(number: number, isAgain: true))
      }
    }
    return tasks
  }
}

/// What a part tells of one task, on one line.
struct Report: Codable {
  var task: Plan.Task
  var verdict: Verdict
}

/// The work of one part: runs its numbers and prints what came of each.
func runPart(
  _ part: Int, of plan: Plan, _ seed: (UInt64) -> UInt64, judge: (UInt64) -> Verdict
) throws {
  let encoder = JSONEncoder()
  Runner.prepare()
  for task in plan.tasks(of: part).dropFirst(option("--behind", 0)) {
    let report = Report(task: task, verdict: judge(seed(task.number)))
    FileHandle.standardOutput.write(try encoder.encode(report) + [UInt8(ascii: "\n")])
  }
}

/// Starts the parts, puts together what they tell, and hands on one verdict for each number.
final class Parts: @unchecked Sendable {
  private let plan: Plan
  private let arguments: [String]
  private let seed: @Sendable (UInt64) -> UInt64
  private let each: (Verdict) -> Void
  /// Guards what follows.
  private let turn = NSLock()
  /// First and second runs whose counterpart has not come yet.
  private var halves: [UInt64: Report] = [:]

  /// `arguments` are those of the run: a part is told them as well.
  init(
    _ plan: Plan, _ arguments: [String], _ seed: @escaping @Sendable (UInt64) -> UInt64,
    each: @escaping (Verdict) -> Void
  ) {
    self.plan = plan
    self.arguments = arguments
    self.seed = seed
    self.each = each
  }

  func run() {
    DispatchQueue.concurrentPerform(iterations: plan.parts) { part in
      let tasks = plan.tasks(of: part)
      var done = 0
      // A task that takes its process down fails, and another process goes on behind it.
      for _ in 0..<Self.restartsMax {
        let trouble = runPart(part, behind: done) { report in
          done += 1
          turn.withLock { take(report) }
        }
        turn.withLock {
          if done < tasks.count {
            let why = "part \(part) \(trouble ?? "ended") before it told of this"
            take(Report(task: tasks[done], verdict: broken(tasks[done], why)))
            done += 1
          } else if let trouble {
            each(broken(tasks.last ?? Plan.Task(number: plan.first), "part \(part) \(trouble)"))
          }
        }
        if done >= tasks.count { return }
      }
      turn.withLock { giveUp(Set(tasks[done...]), "part \(part) was started too often") }
    }
  }

  /// So many processes of one part may be taken down.
  private static let restartsMax = 20

  /// Runs one part from behind its first tasks and hands on its reports; gives what went wrong.
  private func runPart(_ part: Int, behind: Int, _ take: (Report) -> Void) -> String? {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments =
      ["part", String(part), "--parts", String(plan.parts), "--behind", String(behind)] + arguments
    process.standardOutput = pipe
    do {
      try process.run()
      let decoder = JSONDecoder()
      var rest = Data()
      while case let piece = pipe.fileHandleForReading.availableData, !piece.isEmpty {
        rest += piece
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          take(try decoder.decode(Report.self, from: Data(rest[..<end])))
          rest = Data(rest[(end + 1)...])
        }
      }
      process.waitUntilExit()
      return process.terminationStatus == 0 ? nil : "ended with \(process.terminationStatus)"
    } catch {
      if process.isRunning { process.terminate() }
      return "\(error)"
    }
  }

  private func take(_ report: Report) {
    guard plan.runsTwice(report.task.number) else { return each(report.verdict) }
    guard let half = halves.removeValue(forKey: report.task.number) else {
      halves[report.task.number] = report
      return
    }
    var verdict = report.task.isAgain ? half.verdict : report.verdict
    let second = report.task.isAgain ? report.verdict : half.verdict
    if verdict.violation == nil, second.violation != nil || second.hash != verdict.hash {
      verdict.violation = "THE SECOND RUN DIFFERS, in another process:\n\(second.story)"
    }
    each(verdict)
  }

  /// What a part has left when it has ended, in its order: the first is the one it ended in.
  private func giveUp(_ left: Set<Plan.Task>, _ why: String) {
    for task in left.sorted(by: {
      ($0.number, $0.isAgain ? 1 : 0) < ($1.number, $1.isAgain ? 1 : 0)
    }) {
      take(Report(task: task, verdict: broken(task, why)))
    }
  }

  private func broken(_ task: Plan.Task, _ why: String) -> Verdict {
    let seed = seed(task.number)
    let drawn = Runner.line(of: seed)
    var verdict = Verdict(seed: seed, knobs: drawn.text, usesFile: drawn.usesFile)
    verdict.violation = why
    return verdict
  }
}
