internal import Glibc

/// A ``NetworkStatus`` with its reason, computed from the kernel's tables without sending a packet or waiting.
///
/// ```swift
/// let status = PassiveStatus.current()
/// if status.status == .down { print(status.sentence) }    // No network interface is connected (no carrier): eth0.
/// ```
///
/// Replaces `CFNetDiagnosticCopyNetworkStatusPassively`.
public struct PassiveStatus: Sendable, Hashable {
    /// The status.
    public var status: NetworkStatus
    /// A localizable sentence that gives the reason.
    public var sentence: Sentence

    /// The status of this machine's network or, with addresses, of the route to them. One reachable address suffices.
    ///
    /// The status is `up` if an interface is up, has a carrier and has an address that is valid beyond its link (IPv4 or IPv6),
    /// and there is a route to the target (or a default route). A target on this machine is always `up`.
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

    /// Applies the rule to the given facts. `routes` has no entry for a target without a route.
    init(_ network: NetworkSnapshot, to targets: [IPAddress], routes: [IPAddress: Route]) {
        if let local = targets.first(where: { $0.isLoopback || routes[$0]?.kind == .local }) {
            self.init(status: .up, sentence: .thisMachine(local.description))
            return
        }
        let families: AddressFamilies =
            targets.isEmpty ? .all : targets.reduce(into: []) { $0.formUnion($1.family) }
        if let finding = LinkRules.findings(network, families: families).first(where: { $0.severity == .failure }) {
            // Without a carrier nothing works; with one, a DHCP server may still assign an address.
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
