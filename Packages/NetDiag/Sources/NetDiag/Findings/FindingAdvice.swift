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
            case .linkLocalOnly, .noAddress, .leaseExpired:
                "Renew the DHCP lease and check that the DHCP server or router is on; or set an address by hand."
            case .familyMissing:
                "Have this machine given an address of that family, or ask for a name that has addresses of both."
            case .leaseOverdue:
                "Check that the DHCP server or router is on, and renew the lease before the address is gone."
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
            case .nameServersRefuse: "Use name servers that serve this network, or tell whoever runs these."
            case .nameServersOnlyTCP:
                "Something drops UDP to port 53: ask who runs the firewall, or set `options use-vc` in resolv.conf."
            case .nameServersOnlyUDP: "Something drops TCP to port 53: ask who runs the firewall."
            case .nameServerLies: "Use the other name server, or tell whoever runs the wrong one."
            case .nameInvented:
                "Check the spelling: there is most likely no such name. Use name servers that do not invent answers."
            case .nameServerInvents: "Programs will not notice mistyped names: use name servers that do not do this."
            case .nameBlocked:
                "If the name should not be blocked, take it off the filter's list, or use other name servers."
            case .nameServersFail: "Tell whoever runs the name servers, or use others."
            case .nameServerBad:
                "Remove this server from the network settings, or have it repaired: it slows down every lookup."
            case .nameUnknown:
                "Check the spelling. If the name is new, or known only inside a network, check which network you are in."
            case .nameWithoutAddress:
                "Ask for another name, such as with `www.` in front; or tell whoever runs the domain."
            case .hostsEntryStale: "Remove or correct the name's line in the hosts file."
            case .nameLookupFailed: "Try again; if it stays, check the machine's resolver configuration."
            case .proxySettingsUnreadable: "Correct the setting; proxies are written kind://host:port."
            case .proxyUnknown, .proxyUnreachable:
                "Check the proxy's name and port in the settings (`env | grep -i proxy`), and whether you are in its network."
            case .proxyWrong: "Check the proxy's kind and port in the settings."
            case .proxyCredentialsWanted: "Give the proxy's user name and password."
            case .proxyForbids: "Ask whoever runs the proxy, or exempt the host with `no_proxy`."
            case .proxyFails:
                "If the target is inside your network, exempt it with `no_proxy`; else tell whoever runs the proxy."
            case .proxyScript:
                "Install what is missing, or name the proxy itself, as in `https_proxy=http://HOST:PORT`."
            case .proxyScriptUnreachable:
                "Check the script's URL in the proxy settings, and whether you are in its network."
            case .proxyScriptBroken:
                "Tell whoever wrote the script; until then name the proxy itself, as in `https_proxy=http://HOST:PORT`."
            case .portRefused: "Check the port number, and that the service runs on that machine."
            case .noAnswer:
                "Check that the machine is on; otherwise a firewall on the way drops the packets: ask who runs it."
            case .portFiltered: "A firewall at the host or on the way drops the packets: ask who runs it."
            case .connectionForbidden: "Ask whoever runs that firewall to let the connection through."
            case .packetsTooLarge:
                "Make packets smaller for now, as in `ip link set NAME mtu 1280`, and have the router let through ICMP 'packet too big'."
            case .hostUnreachable: "The break is beyond the router that says so: tell whoever runs that network."
            case .connectionBroken:
                "Try again; if it stays, a firewall or a fault of the server breaks connections off."
            case .familyBroken:
                "Programs without a fallback will fail or be slow: have the family repaired, or switch it off."
            case .connectionFailed: "See the evidence."
            case .clockWrong: "Set this machine's clock, for example by `timedatectl set-ntp true`."
            case .certificateIntercepted:
                "If your organisation or your virus scanner does this, install its root certificate. Otherwise do not go on."
            case .certificateRevoked: "Do not go on; tell whoever runs the server."
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
            case .notFTP: "Check the port: another service answers there."
            case .captivePortal: "Open a browser, go to a page whose address begins with http://, and sign in."
            case .ledElsewhere: "Follow the new address, if you trust it."
            case .redirectLoop: "Tell whoever runs the server."
            case .serverBroken: "Try again later, or tell whoever runs the server."
            case .requestRefused: "Check the address of the page and what you may see there."
            case .answerMissing: "Try again; if it stays, tell whoever runs the server."
            case .credentialsWanted: "Give the user name and password."
            case .credentialsRefused: "Check the user name and password; they may have been changed, or locked."
            case .clientCertificateWanted: "Give the client certificate that the server's people have handed out."
            case .accessForbidden: "Ask whoever runs the server for access."
            }
        return Sentence("advice.\(rawValue)", text)
    }
}
