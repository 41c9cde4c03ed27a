/// Guides a user through a repair, one step at a time, with a new diagnosis after each step.
///
/// ```swift
/// var guide = RepairGuide()
/// while case .step(let step) = guide.next(after: await diagnostic.diagnose()) {
///     show(step.finding.sentence, step.text)      // and wait until the user has done it
/// }
/// ```
///
/// It does no I/O: the caller presents the steps, in a terminal or a window.
public struct RepairGuide: Sendable {
    /// One instruction to the user.
    public struct Step: Sendable, Hashable {
        /// The finding that the step is meant to repair.
        public var finding: Finding
        /// A localizable sentence that says what to do.
        public var text: Sentence
        /// The number of the step among the steps for this finding, from 1.
        public var number: Int
        /// The number of steps for this finding.
        public var count: Int
        /// Whether the previous fault is repaired and this step is for the next one.
        public var isProgress: Bool
    }

    /// The next action of the guide.
    public enum Next: Sendable, Hashable {
        /// Ask the user to do this step.
        case step(Step)
        /// Nothing is broken; `isRepaired` tells whether something was broken before.
        case works(isRepaired: Bool)
        /// Every step for this finding was tried without success: the user needs help.
        case exhausted(Finding)
    }

    private var taken: [FindingCode: Int] = [:]
    private var last: FindingCode?

    /// Creates a guide that has not given any step yet.
    public init() {}

    /// Returns the next action, given the latest diagnosis.
    public mutating func next(after diagnosis: Diagnosis) -> Next {
        guard let finding = diagnosis.cause else { return .works(isRepaired: last != nil) }
        let steps = finding.code.steps
        let number = taken[finding.code, default: 0]
        guard number < steps.count else { return .exhausted(finding) }
        taken[finding.code] = number + 1
        let isProgress = last.map { $0 != finding.code && $0.rung <= finding.rung } ?? false
        last = finding.code
        return .step(
            Step(
                finding: finding, text: steps[number], number: number + 1, count: steps.count, isProgress: isProgress))
    }
}

extension FindingCode {
    /// Localizable instructions for the user, one after the other, the easiest first.
    ///
    /// The steps need only tools that are present on every machine. A code without steps of its own has one, its ``advice``.
    public var steps: [Sentence] {
        let texts: [String] =
            switch self {
            case .noInterface: ["Plug in the network adapter, or enable it in the machine's firmware."]
            case .linkOff: ["Enable the network in the desktop's settings, or run `ip link set NAME up`."]
            case .noCarrier:
                [
                    "Push in the cable at both ends; reconnect to a wireless network.",
                    "Try another cable, or another port of the switch.",
                    "Check that the switch or the access point is on.",
                ]
            case .linkLocalOnly, .noAddress, .leaseExpired:
                [
                    "Turn the network off and on again, to request a new address.",
                    "Check that the router is on, and restart it.",
                    "Check whether another machine in this network works; as a last resort, set an address manually.",
                ]
            case .duplicateAddress:
                [
                    "Turn the network off and on again, to request another address.",
                    "Find the machine whose address was set manually, and change that address.",
                ]
            case .noRoute:
                [
                    "Turn off any VPN.", "Turn the network off and on again.",
                    "Enter the router's address as the gateway in the network settings.",
                ]
            case .gatewaySilent:
                [
                    "Check that the router is on.", "Turn off the router, wait ten seconds, and turn it on.",
                    "Compare the gateway's address in the network settings with the one printed on the router.",
                ]
            case .nameServersSilent, .nameServersFail, .nameServersRefuse:
                [
                    "Turn off any VPN: its name servers may be unreachable.", "Restart the router.",
                    "Enter other name servers in the network settings, such as those of your provider.",
                ]
            case .hostsEntryStale: ["Open the hosts file (/etc/hosts) and remove the line with this name."]
            case .nameUnknown, .nameInvented:
                [
                    "Compare the name with its source, letter by letter.",
                    "Connect to the network that knows the name.",
                ]
            case .proxyUnknown, .proxyUnreachable, .proxyWrong:
                [
                    "Check which proxy is set: `env | grep -i proxy`.",
                    "Connect to the proxy's network, or unset the variable.",
                ]
            case .portRefused:
                ["Compare the port number with its source.", "Start the service on that machine."]
            case .noAnswer:
                [
                    "Check that the machine is on.",
                    "Try from another network: a firewall in this one may block the connection.",
                    "Contact the operator of the machine or of the firewall.",
                ]
            case .captivePortal:
                ["Open a browser, go to a page whose address begins with http://, and sign in."]
            case .clockWrong, .certificateNotYetValid:
                [
                    "Compare this machine's date and time with another clock.",
                    "Set them: `timedatectl set-ntp true` keeps them right.",
                ]
            case .packetsTooLarge:
                [
                    "Reduce the packet size: `ip link set NAME mtu 1280`.",
                    "Ask the operator of the router or of the VPN to allow ICMP.",
                ]
            case .familyMissing, .leaseOverdue, .routeRefused, .hostSilent, .noNameServers, .nameServersOnlyTCP,
                .nameServersOnlyUDP, .nameServerBad, .nameWithoutAddress, .nameServerLies, .nameServerInvents,
                .nameBlocked,
                .nameLookupFailed, .proxySettingsUnreadable, .proxyCredentialsWanted, .proxyForbids, .proxyFails,
                .proxyScript, .proxyScriptUnreachable, .proxyScriptBroken, .portFiltered, .connectionForbidden,
                .hostUnreachable, .connectionBroken, .familyBroken,
                .connectionFailed, .certificateExpired, .certificateUntrusted, .certificateIntercepted,
                .certificateRevoked, .certificateWrongName, .notTLS, .nothingInCommon, .securityFailed, .notHTTP,
                .notFTP,
                .ledElsewhere, .redirectLoop, .serverBroken, .requestRefused, .requestsLimited, .tlsExpected,
                .answerMissing, .credentialsWanted,
                .credentialsRefused, .clientCertificateWanted, .accessForbidden:
                []
            }
        if texts.isEmpty { return [advice] }
        return texts.enumerated().map { Sentence("step.\(rawValue).\($0.offset + 1)", $0.element) }
    }
}
