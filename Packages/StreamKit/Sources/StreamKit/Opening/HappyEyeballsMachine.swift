internal import EventLoops
@_spi(Packages) internal import HostResolver

/// Decides which address to connect to, and when (RFC 8305). It uses no sockets and reads no clock.
///
/// Addresses are added as the lookup finds them. IPv6 and IPv4 alternate, beginning with the family that the lookup put
/// first. If only IPv4 has answered, IPv6 gets another 50 ms (§3). The next attempt begins when the previous one fails,
/// or after the attempt delay, in parallel with those in progress (§5). The first attempt to succeed wins.
///
/// If every address has failed, the family that has not answered is waited for until ``AddressRequest/secondFamilyTime`` after the other's
/// answer: its queries may be dropped on the way.
struct HappyEyeballsMachine {
    enum Action: Equatable {
        /// Connect to this address; report the outcome under this number.
        case attempt(Int, SocketAddress)
        /// Do nothing until the next input, or until this instant.
        case wait(until: Moment?)
        /// This attempt has won; abandon the others.
        case connected(Int)
        /// Every address has failed, or the lookup found none. No address comes any more, or none came in time.
        case failed
    }

    /// How long to wait for IPv6 addresses once IPv4 has answered (§3, "Resolution Delay").
    static let resolutionDelay: Duration = .milliseconds(50)

    private let attemptDelay: Duration
    private var candidates: [SocketAddress] = []
    private var known: Set<SocketAddress> = []
    private var lastFamily: CInt?
    private var attempts = 0
    private var underway: Set<Int> = []
    private var winner: Int?
    private var lastStart: Moment?
    private var firstAnswer: Moment?
    private var answered: AddressFamilies = []
    private var isLookupOver = false

    init(attemptDelay: Duration = .milliseconds(250)) {
        self.attemptDelay = attemptDelay
    }

    /// Adds addresses, best first.
    mutating func receive(_ addresses: [SocketAddress], families: AddressFamilies, now: Moment) {
        answered.formUnion(families)
        if !addresses.isEmpty, firstAnswer == nil { firstAnswer = now }
        candidates.append(contentsOf: addresses.filter { known.insert($0).inserted })
    }

    /// Records that no more addresses will come.
    mutating func lookupEnded() {
        isLookupOver = true
    }

    mutating func attemptFailed(_ number: Int) {
        // Without a last start, the next attempt does not wait for the attempt delay (§5).
        if underway.remove(number) != nil { lastStart = nil }
    }

    mutating func attemptSucceeded(_ number: Int) {
        if winner == nil, underway.contains(number) { winner = number }
    }

    mutating func next(now: Moment) -> Action {
        if let winner { return .connected(winner) }
        if candidates.isEmpty {
            guard underway.isEmpty else { return .wait(until: nil) }
            let end = firstAnswer.map { $0 + AddressRequest.secondFamilyTime }
            return isLookupOver || end.map { $0 <= now } == true ? .failed : .wait(until: end)
        }
        if let delayEnd = resolutionDelayEnd, now < delayEnd { return .wait(until: delayEnd) }
        if let lastStart, now < lastStart + attemptDelay { return .wait(until: lastStart + attemptDelay) }
        let address = takeCandidate()
        attempts += 1
        underway.insert(attempts)
        lastStart = now
        lastFamily = address.family
        return .attempt(attempts, address)
    }

    /// The end of the resolution delay; nil if none applies: an attempt has begun, the lookup has ended, or IPv6 has
    /// answered.
    private var resolutionDelayEnd: Moment? {
        guard attempts == 0, !isLookupOver, !answered.contains(.v6), let firstAnswer else { return nil }
        guard !candidates.contains(where: { if case .ip(.v6, _) = $0 { true } else { false } }) else { return nil }
        return firstAnswer + HappyEyeballsMachine.resolutionDelay
    }

    /// Removes and returns the first candidate of a family other than the previous attempt's. If there is none, removes
    /// and returns the first candidate.
    private mutating func takeCandidate() -> SocketAddress {
        let index = lastFamily.flatMap { last in candidates.firstIndex { $0.family != last } } ?? 0
        return candidates.remove(at: index)
    }
}
