internal import CMeasure
internal import Dispatch
internal import Glibc

/// One row of a Swift benchmark program: a name and its work.
///
/// ```swift
/// Row.main([
///     Row("read") { arguments in … },            // blocking: runs on the main thread
///     Row(async: "read-async") { arguments in … } // runs in a detached task
/// ])
/// ```
///
/// The work prepares, then calls `measure_begin()` and `measure_end(_:_:)` around the measured part.
public struct Row: Sendable {
    let name: String
    let work: Work

    enum Work: Sendable {
        case blocking(@Sendable (Arguments) throws -> Void)
        case async(@Sendable @concurrent (Arguments) async throws -> Void)
    }

    /// A row that blocks the main thread.
    public init(_ name: String, _ work: @escaping @Sendable (Arguments) throws -> Void) {
        self.name = name
        self.work = .blocking(work)
    }

    /// A row that suspends. It runs in a detached task, since on the main actor every resumption costs a hop.
    public init(async name: String, _ work: @escaping @Sendable @concurrent (Arguments) async throws -> Void) {
        self.name = name
        self.work = .async(work)
    }

    /// Runs the row named on the command line, and ends the process.
    ///
    /// The main thread waits on a semaphore, because valgrind does not support `dispatchMain`, which an `async` main calls.
    public static func main(_ rows: [Row]) -> Never {
        signal(SIGPIPE, SIG_IGN)
        let arguments = Arguments()
        guard let row = rows.first(where: { $0.name == arguments.row }) else {
            stop("no row named '\(arguments.row)'", status: 2)
        }
        switch row.work {
        case .blocking(let work):
            do { try work(arguments) } catch { stop("\(row.name): \(error)", status: 1) }
        case .async(let work):
            let finished = DispatchSemaphore(value: 0)
            Task.detached {
                do { try await work(arguments) } catch { stop("\(row.name): \(error)", status: 1) }
                finished.signal()
            }
            finished.wait()
        }
        exit(0)
    }
}

/// Prints the reason for a failure, and ends the program.
public func stop(_ reason: String, status: Int32 = 1) -> Never {
    measure_stop(reason, status)
}
