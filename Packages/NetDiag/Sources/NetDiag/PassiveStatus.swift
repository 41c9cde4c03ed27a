internal import Glibc

/// A ``NetworkStatus`` with the reason, made from what the kernel knows: no packet is sent and nothing waits.
///
/// ```swift
/// let status = PassiveStatus.current()
/// if status.status == .down { print(status.sentence) }    // No network interface is connected (no carrier): eth0.
/// ```
///
/// Replaces `CFNetDiagnosticCopyNetworkStatusPassively`.
public struct PassiveStatus: Sendable, Hashable {
    /// The verdict.
    public var status: NetworkStatus
    /// Why, in words that can be localized.
    public var sentence: Sentence

    /// The status of this machine's network; with addresses, that of the way to the best reachable one of them.
    ///
    /// Up takes an interface that is switched on and has a carrier and an address that is valid beyond its link, IPv4 or
    /// IPv6, and a route to the target (or a default route). A target on this machine is up.
    public static func current(to targets: [IPAddress] = []) -> PassiveStatus {
        do throws(ResolverError) {
            var routes: [IPAddress: Route] = [:]
            for target in targets { routes[target] = try Route.to(target) }
            return PassiveStatus(try NetworkSnapshot.current(), to: targets, routes: routes)
        } catch {
            return PassiveStatus(status: .indeterminate, sentence: .kernelSilent(error.description))
        }
    }

    init(status: NetworkStatus, sentence: Sentence) {
        self.status = status
        self.sentence = sentence
    }

    /// The rule, for facts that are given. A target without a route has none in `routes`.
    init(_ network: NetworkSnapshot, to targets: [IPAddress], routes: [IPAddress: Route]) {
        if let local = targets.first(where: { $0.isLoopback || routes[$0]?.kind == .local }) {
            self.init(status: .up, sentence: .thisMachine(local.description))
            return
        }
        let families: AddressFamilies =
            targets.isEmpty ? .all : targets.reduce(into: []) { $0.formUnion($1.family) }
        if let finding = LinkRules.findings(network, families: families).first(where: { $0.severity == .failure }) {
            // Without a carrier there is nothing; with one, somebody may still give out an address.
            self.init(status: finding.rung == .link ? .down : .indeterminate, sentence: finding.sentence)
            return
        }
        let hasRoute =
            targets.isEmpty
            ? network.defaultRoutes.contains { !$0.isDead }
            : targets.contains { routes[$0].map { !$0.isDead && $0.kind != .refused } ?? false }
        self =
            hasRoute
            ? PassiveStatus(status: .up, sentence: .networkFine)
            : PassiveStatus(
                status: .indeterminate, sentence: .noRouteKnown(targets.map(\.description).joined(separator: ", ")))
    }
}
