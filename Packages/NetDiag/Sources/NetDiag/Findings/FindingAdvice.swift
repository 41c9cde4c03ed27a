extension FindingCode {
    /// A localizable sentence that says what the user can do.
    public var advice: Sentence {
        let text =
            switch self {
            case .noInterface:
                "Plug in or enable a network adapter; in a container or virtual machine, attach it to a network."
            case .linkOff:
                "Enable the interface in the desktop's network settings, or with `ip link set NAME up`."
            case .noCarrier: "Check the cable at both ends, the switch, or the wireless connection."
            case .duplicateAddress:
                "Give one of the two machines another address; with DHCP, renew the lease and look for a second DHCP server."
            case .linkLocalOnly, .noAddress, .leaseExpired:
                "Renew the DHCP lease and check that the DHCP server or router is on, or set an address manually."
            case .familyMissing:
                "Configure an address of the missing family on this machine, or use a host that has addresses of both families."
            case .leaseOverdue:
                "Check that the DHCP server or router is on, and renew the lease before it expires."
            case .noRoute:
                "Check the default gateway in the network settings, and whether a VPN has removed the route."
            case .routeRefused:
                "Remove the rule that forbids this destination; `ip route get ADDRESS` shows it."
            case .gatewaySilent:
                "Restart the router, and check that the gateway's address in the network settings is the router's."
            case .hostSilent: "Check that the host is on, is connected to this network, and has this address."
            case .noNameServers: "Enter a name server in the network settings, or renew the DHCP lease."
            case .nameServersSilent:
                "Check the name servers' addresses, and that no firewall blocks port 53; try another name server."
            case .nameServersRefuse: "Use name servers that serve this network, or contact the operator of these."
            case .nameServersOnlyTCP:
                "A firewall drops UDP to port 53: contact its operator, or set `options use-vc` in resolv.conf."
            case .nameServersOnlyUDP: "A firewall drops TCP to port 53: contact its operator."
            case .nameServerLies: "Use the other name server, or contact the operator of the wrong one."
            case .nameInvented:
                "Check the spelling: the name probably does not exist. Use name servers that do not invent answers."
            case .nameServerInvents:
                "Programs cannot detect mistyped names: use name servers that do not invent answers."
            case .nameBlocked:
                "If the name should not be blocked, remove it from the filter's list, or use other name servers."
            case .nameServersFail: "Contact the operator of the name servers, or use others."
            case .nameServerBad:
                "Remove this name server from the network settings, or have it repaired: it slows down every lookup."
            case .nameUnknown:
                "Check the spelling. If the name is new or internal, check that this machine is in the right network."
            case .nameWithoutAddress:
                "Try another name, such as the same one with `www.` in front, or contact the operator of the domain."
            case .hostsEntryStale: "Remove or correct the name's line in the hosts file (/etc/hosts)."
            case .nameLookupFailed: "Try again; if the failure persists, check this machine's resolver configuration."
            case .proxySettingsUnreadable: "Correct the setting; a proxy is written kind://host:port."
            case .proxyUnknown, .proxyUnreachable:
                "Check the proxy's name and port in the settings (`env | grep -i proxy`), and that this machine is in the proxy's network."
            case .proxyWrong: "Check the proxy's type and port in the settings."
            case .proxyCredentialsWanted: "Supply the proxy's user name and password."
            case .proxyForbids: "Ask the proxy's operator for access, or exempt the host with `no_proxy`."
            case .proxyFails:
                "If the target is inside your network, exempt it with `no_proxy`; otherwise contact the proxy's operator."
            case .proxyScript:
                "Install libjavascriptcoregtk-6.0-1 if it is missing, or set the proxy itself, as in `https_proxy=http://HOST:PORT`."
            case .proxyScriptUnreachable:
                "Check the script's URL in the proxy settings, and that this machine is in the network of its server."
            case .proxyScriptBroken:
                "Contact the author of the script; until it is fixed, set the proxy itself, as in `https_proxy=http://HOST:PORT`."
            case .portRefused: "Check the port number, and that the service runs on that machine."
            case .noAnswer:
                "Check that the host is on; otherwise a firewall on the path drops the packets: contact its operator."
            case .portFiltered: "A firewall on the host or on the path drops the packets: contact its operator."
            case .connectionForbidden: "Ask the operator of that firewall to allow the connection."
            case .packetsTooLarge:
                "Reduce the packet size for now, as in `ip link set NAME mtu 1280`, and have the router forward ICMP 'packet too big'."
            case .hostUnreachable:
                "The failure is beyond the router that reports it: contact the operator of that network."
            case .connectionBroken:
                "Try again; if the failure persists, a firewall or a fault of the server ends connections."
            case .familyBroken:
                "Programs without a fallback will fail or be slow: have the address family repaired, or disable it."
            case .connectionFailed:
                "Try again; if the failure persists, give this finding and its evidence to the operator of the server."
            case .clockWrong: "Set this machine's clock, for example with `timedatectl set-ntp true`."
            case .certificateIntercepted:
                "If your organisation or your virus scanner does this, install its root certificate. Otherwise do not continue."
            case .certificateRevoked: "Do not continue; contact the server's operator."
            case .certificateExpired:
                "Ask the server's operator to renew the certificate, and check this machine's date."
            case .certificateNotYetValid:
                "Check this machine's date and time; if they are right, contact the server's operator."
            case .certificateUntrusted:
                "If the server is your organisation's, install its root certificate. Otherwise the connection may be intercepted: do not continue."
            case .certificateWrongName:
                "Check the address you typed; if it is right, this is the wrong server: do not continue."
            case .notTLS: "Check the port, and whether the service there uses https, http or another protocol."
            case .nothingInCommon:
                "The server and this program share no TLS version or cipher: update the older one."
            case .securityFailed:
                "Try again; if the failure persists, give this finding and its evidence to the operator of the server."
            case .notHTTP: "Check the port: another service answers there."
            case .notFTP: "Check the port: another service answers there."
            case .captivePortal: "Open a browser, go to a page whose address begins with http://, and sign in."
            case .ledElsewhere: "Follow the redirect if you trust the new address."
            case .redirectLoop: "Contact the server's operator."
            case .serverBroken: "Try again later, or contact the server's operator."
            case .requestRefused: "Check the URL, and that you have access to it."
            case .requestsLimited: "Wait, then send fewer requests. Access and the URL are not the problem."
            case .tlsExpected: "Use https:// in the URL."
            case .answerMissing: "Try again; if the failure persists, contact the server's operator."
            case .credentialsWanted: "Supply a user name and password."
            case .credentialsRefused:
                "Check the user name and password; the password may have changed, or the account may be locked."
            case .clientCertificateWanted: "Supply the client certificate that the server's operator has issued."
            case .accessForbidden: "Ask the server's operator for access."
            }
        return Sentence("advice.\(rawValue)", text)
    }
}
