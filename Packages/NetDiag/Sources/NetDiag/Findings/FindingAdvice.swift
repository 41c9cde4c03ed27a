extension FindingCode {
    /// What a person can do, in words that can be localized.
    public var advice: Sentence {
        let text =
            switch self {
            case .noInterface:
                "Plug in or enable a network adapter; in a container or virtual machine, give it a network."
            case .linkOff:
                "Switch the interface on, for example with your desktop's network settings, or `ip link set NAME up`."
            case .noCarrier: "Check the cable at both ends, the switch, or the wireless connection."
            case .duplicateAddress:
                "Give one of the two machines another address; with DHCP, renew the lease and look for a second DHCP server."
            case .linkLocalOnly, .noAddress:
                "Renew the DHCP lease and check that the DHCP server or router is on; or set an address by hand."
            case .noRoute:
                "Check the default gateway in the network settings, and whether a VPN has taken the route away."
            case .routeRefused:
                "Remove the rule that forbids this destination; `ip route get ADDRESS` shows which one it is."
            case .gatewaySilent:
                "Restart the router, and check that the gateway's address in the network settings is the router's."
            case .hostSilent: "Check that the machine is on, is on this network, and has this address."
            case .noNameServers: "Enter a name server in the network settings, or renew the DHCP lease."
            case .nameServersSilent:
                "Check that the name servers' addresses are right and that nothing between blocks port 53; try another one."
            case .nameServersFail: "Tell whoever runs the name servers, or use others."
            case .nameServerBad:
                "Remove this server from the network settings, or have it repaired: it slows down every lookup."
            case .nameUnknown:
                "Check the spelling. If the name is new, or known only inside a network, check which network you are in."
            case .nameWithoutAddress:
                "Ask for another name, such as with `www.` in front; or tell whoever runs the domain."
            case .hostsEntryStale: "Remove or correct the name's line in the hosts file."
            case .nameLookupFailed: "Try again; if it stays, check the machine's resolver configuration."
            case .portRefused: "Check the port number, and that the service runs on that machine."
            case .noAnswer:
                "Check that the machine is on; otherwise a firewall on the way drops the packets: ask who runs it."
            case .hostUnreachable: "The break is beyond the router that says so: tell whoever runs that network."
            case .connectionBroken:
                "Try again; if it stays, a firewall or a fault of the server breaks connections off."
            case .familyBroken:
                "Programs without a fallback will fail or be slow: have the family repaired, or switch it off."
            case .connectionFailed: "See the evidence."
            case .certificateExpired:
                "Tell whoever runs the server to renew the certificate. Check this machine's date, too."
            case .certificateNotYetValid:
                "Check this machine's date and time; if they are right, tell whoever runs the server."
            case .certificateUntrusted:
                "If the server is your organisation's, install its root certificate. Otherwise somebody may be reading along: do not go on."
            case .certificateWrongName:
                "Check the address you typed; if it is right, this is the wrong server: do not go on."
            case .notTLS: "Check the port and whether the service wants https, http or another protocol there."
            case .nothingInCommon:
                "The server or this program is too old or too strict for the other: update the older one."
            case .securityFailed: "See the evidence."
            case .notHTTP: "Check the port: another service answers there."
            case .ledElsewhere:
                "If this is a guest network, open a browser and sign in; otherwise follow the new address."
            case .serverBroken: "Try again later, or tell whoever runs the server."
            case .requestRefused: "Check the address of the page and what you may see there."
            case .answerMissing: "Try again; if it stays, tell whoever runs the server."
            case .credentialsWanted: "Give the user name and password."
            }
        return Sentence("advice.\(rawValue)", text)
    }
}
