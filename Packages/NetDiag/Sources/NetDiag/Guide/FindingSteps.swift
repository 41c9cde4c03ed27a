extension FindingCode {
    /// What a person can do, one thing after the other, the easiest first; in words that can be localized.
    ///
    /// The first is never more than looking; none needs a tool that is not on every machine.
    public var steps: [Sentence] {
        let texts: [String] =
            switch self {
            case .noInterface: ["Plug the network adapter in, or switch it on in the machine's firmware."]
            case .linkOff: ["Switch the network on in your desktop's settings, or run `ip link set NAME up`."]
            case .noCarrier:
                [
                    "Push the cable in at both ends; for a wireless network, choose it again.",
                    "Try another cable, or another socket of the switch.",
                    "Look whether the switch or the access point is on.",
                ]
            case .linkLocalOnly, .noAddress, .leaseExpired:
                [
                    "Switch the network off and on again, which asks for an address anew.",
                    "Look whether the router is on, and restart it.",
                    "Ask somebody in the same network whether it works there; else set an address by hand.",
                ]
            case .duplicateAddress:
                [
                    "Switch the network off and on again, which asks for another address.",
                    "Look for a machine whose address was set by hand, and change it.",
                ]
            case .noRoute:
                [
                    "Switch any VPN off.", "Switch the network off and on again.",
                    "Enter the router's address as gateway in the network settings.",
                ]
            case .gatewaySilent:
                [
                    "Look whether the router is on.", "Switch the router off, wait for ten seconds, and switch it on.",
                    "Compare the gateway's address in the network settings with the one that is printed on the router.",
                ]
            case .nameServersSilent, .nameServersFail, .nameServersRefuse:
                [
                    "Switch any VPN off: its name servers may be out of reach.", "Restart the router.",
                    "Enter other name servers in the network settings, such as those of your provider.",
                ]
            case .hostsEntryStale: ["Open the hosts file (/etc/hosts) and remove the line with this name."]
            case .nameUnknown, .nameInvented:
                [
                    "Compare the name with where you have it from, letter by letter.",
                    "Connect to the network in which the name is known.",
                ]
            case .proxyUnknown, .proxyUnreachable, .proxyWrong:
                [
                    "Look which proxy is set: `env | grep -i proxy`.",
                    "Connect to the network that the proxy belongs to, or unset the variable.",
                ]
            case .portRefused:
                ["Compare the port number with where you have it from.", "Start the service on that machine."]
            case .noAnswer:
                [
                    "Look whether that machine is on.",
                    "Try from another network: a firewall of yours may be in the way.",
                    "Ask whoever runs the machine or the firewall.",
                ]
            case .captivePortal:
                ["Open a browser, go to a page whose address begins with http://, and sign in."]
            case .clockWrong, .certificateNotYetValid:
                [
                    "Compare this machine's date and time with a watch.",
                    "Set them: `timedatectl set-ntp true` does it for good.",
                ]
            case .packetsTooLarge:
                [
                    "Make packets smaller: `ip link set NAME mtu 1280`.",
                    "Ask whoever runs the router or the VPN to let ICMP through.",
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
                .ledElsewhere, .redirectLoop, .serverBroken, .requestRefused, .answerMissing, .credentialsWanted,
                .credentialsRefused, .clientCertificateWanted, .accessForbidden:
                []
            }
        if texts.isEmpty { return [advice] }
        return texts.enumerated().map { Sentence("step.\(rawValue).\($0.offset + 1)", $0.element) }
    }
}
