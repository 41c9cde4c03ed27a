internal import EventLoops
internal import HTTPAuth

/// A closure of the application for whose result the loads of a session wait: that of the bearer tokens, or the prompt for a protection
/// space.
///
/// Theory of operation. The closure may itself load. If that load waited for the closure, neither would ever end. Therefore the load goes on
/// without the token or the password. A load is within a closure if its task is one of the closure's, by a task-local value, which
/// detached tasks and queues do not have. Two closures, perhaps of two sessions, may also wait for each other: before a load
/// waits, the waits between closures are searched for a way back. A task that outlives the closure in which it began is not within it
/// any more.
struct RunningClosure: Hashable, Sendable {
    /// The object that calls the closure, which exists as long as the closure runs.
    private let owner: ObjectIdentifier
    private let space: ProtectionSpace?

    /// One call of a closure.
    private final class Call: Sendable {
        let closure: RunningClosure
        private let hasEnded = Locked(false)

        init(_ closure: RunningClosure) { self.closure = closure }

        var isRunning: Bool { !hasEnded.withLock { $0 } }

        func end() { hasEnded.withLock { $0 = true } }
    }

    /// The calls within which the task began.
    @TaskLocal private static var calls: [Call] = []
    /// The closures within which the task runs.
    private static var enclosing: Set<RunningClosure> { Set(calls.filter(\.isRunning).map(\.closure)) }
    /// For each closure, those that its loads wait for.
    private static let waits = Locked<[RunningClosure: [RunningClosure]]>([:])

    /// - Parameter space: the protection space whose prompt the closure is; nil for a closure that returns tokens.
    init(of owner: AnyObject, for space: ProtectionSpace? = nil) {
        self.owner = ObjectIdentifier(owner)
        self.space = space
    }

    /// Whether the task runs within a closure of one of these objects.
    static func encloses(callOf owners: AnyObject?...) -> Bool {
        let owners = owners.compactMap { $0.map(ObjectIdentifier.init) }
        return enclosing.contains { owners.contains($0.owner) }
    }

    /// Calls the closure.
    func run<Value: Sendable>(_ closure: () async -> Value) async -> Value {
        let call = Call(self)
        defer { call.end() }
        return await RunningClosure.$calls.withValue(
            RunningClosure.calls.filter(\.isRunning) + [call], operation: closure)
    }

    /// Records that a load of this task waits for the closure. Returns nil if it must not, because the closure waits for the load.
    func beginWait() -> Wait? {
        let enclosing = RunningClosure.enclosing
        let isPermitted =
            enclosing.isEmpty
            || RunningClosure.waits.withLock { waits in
                var reached: Set<RunningClosure> = [self]
                var unseen = [self]
                while let closure = unseen.popLast() {
                    if enclosing.contains(closure) { return false }
                    unseen += (waits[closure] ?? []).filter { reached.insert($0).inserted }
                }
                for closure in enclosing { waits[closure, default: []].append(self) }
                return true
            }
        return isPermitted ? Wait(from: enclosing, for: self) : nil
    }

    /// A wait that has been recorded.
    struct Wait: Sendable {
        private let enclosing: Set<RunningClosure>
        private let closure: RunningClosure

        fileprivate init(from enclosing: Set<RunningClosure>, for closure: RunningClosure) {
            self.enclosing = enclosing
            self.closure = closure
        }

        /// Records that the load does not wait any more.
        func end() {
            if enclosing.isEmpty { return }
            RunningClosure.waits.withLock { waits in
                for from in enclosing {
                    guard let index = waits[from]?.firstIndex(of: closure) else { continue }
                    waits[from]?.remove(at: index)
                    if waits[from]?.isEmpty == true { waits[from] = nil }
                }
            }
        }
    }
}
