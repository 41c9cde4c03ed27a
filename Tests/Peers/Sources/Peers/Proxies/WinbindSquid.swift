internal import Glibc

/// squid with NTLM and Negotiate, verified by Samba's winbind: a second implementation of NTLM.
///
/// ```swift
/// let proxy = WinbindSquid()
/// try proxy.start()
/// // curl --proxy http://localhost:\(proxy.port) --proxy-ntlm -U 'PEERHOST\alice:open sesame' …
/// ```
///
/// The users of the domain `PEERHOST` are `alice`, with the password `open sesame`, and ``WinbindSquid/accentedUser``. Only NTLMv2 is
/// accepted, also within Negotiate.
///
/// winbind uses fixed paths below `/run` and looks up its users in the system's accounts. So it runs in its own namespaces, in which
/// other files are mounted over `/etc/passwd`, `/etc/group` and `/run`. All its files disappear with them. This requires root.
public final class WinbindSquid: Peer {
    /// `winbindd`, from the package `winbind`.
    public static let program = Program("winbindd", package: "winbind")
    /// A user whose name and password have letters beyond ASCII, among them `ß`, which has no upper case of one letter.
    public static let accentedUser = (name: "rené.groß", password: "sésame, öffne dich: ß")
    /// The process of the server.
    public let process = PeerProcess()

    /// Creates a server that is not started yet.
    public init() {}

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        guard geteuid() == 0 else { throw PeerError(.refused, "winbind requires root for its fixed paths below /run") }
        let tools = [
            Self.program, Program("ntlm_auth", package: "winbind"), Program("smbpasswd", package: "samba-common-bin"),
        ]
        for tool in tools { _ = try tool.located() }
        let squid = try Squid.program.located()
        // The shell ends immediately on SIGTERM; then its child is killed, and with it the process namespace.
        try process.start(Program("sh", package: "dash"), ports: 1) { scratch, ports throws(PeerError) in
            try scratch.write("smb.conf", Self.samba(folder: scratch.path))
            try scratch.write("hosts", Squid.hosts)
            let file = try scratch.write("squid.conf", Self.squid(folder: scratch.path, port: ports[0]))
            let boot = try scratch.write("boot.sh", Self.boot(folder: scratch.path, squid: squid, file: file))
            let enter =
                "setpriv --pdeathsig KILL unshare --mount --pid --mount-proc --propagation private --fork "
                + "--kill-child=KILL sh \(boot) & wait"
            return PeerProcess.Launch(
                arguments: ["-c", enter], sockets: ListeningSocket.tcp(ports[0]),
                announcement: "Accepting HTTP Socket connections",
                logs: ["squid/access.log", "squid/cache.log", "winbind.log"],
                ownerIsDescendant: true)
        }
    }

    private static func samba(folder: String) -> String {
        """
        [global]
            workgroup = PEERS
            netbios name = PEERHOST
            server role = standalone server
            passdb backend = tdbsam:\(folder)/private/passdb.tdb
            private dir = \(folder)/private
            state directory = \(folder)/state
            cache directory = \(folder)/cache
            lock directory = \(folder)/lock
            pid directory = \(folder)/pid
            ncalrpc dir = /run/samba/ncalrpc
            winbindd socket directory = /run/samba/winbindd
            log file = \(folder)/log/%m.log
            interfaces = 127.0.0.1
            bind interfaces only = yes
            disable netbios = yes
            ntlm auth = ntlmv2-only
            idmap config * : backend = tdb
            idmap config * : range = 100000-200000

        """
    }

    private static func squid(folder: String, port: Int) -> String {
        """
        http_port 127.0.0.1:\(port)
        visible_hostname localhost
        pid_filename none
        access_log stdio:\(folder)/squid/access.log
        cache_log \(folder)/squid/cache.log
        cache deny all
        cache_mem 8 MB
        coredump_dir \(folder)/squid
        shutdown_lifetime 0 seconds
        netdb_filename none
        pinger_enable off
        icon_directory /usr/share/squid/icons
        error_directory /usr/share/squid/errors/en
        hosts_file \(folder)/hosts
        dns_nameservers 127.0.0.1
        via off
        forwarded_for delete
        cache_effective_group winbindd_priv
        auth_param negotiate program /usr/bin/ntlm_auth --configfile=\(folder)/smb.conf --helper-protocol=gss-spnego
        auth_param negotiate children 2 startup=1
        auth_param ntlm program /usr/bin/ntlm_auth --configfile=\(folder)/smb.conf --helper-protocol=squid-2.5-ntlmssp
        auth_param ntlm children 2 startup=1
        acl known proxy_auth REQUIRED
        http_access allow known
        http_access deny all

        """
    }

    private static func boot(folder: String, squid: String, file: String) -> String {
        """
        set -e
        cd \(folder)
        mkdir -m 755 etc private state cache lock pid log squid
        grep -E '^(root|nobody|proxy):' /etc/passwd > etc/passwd
        cp /etc/group etc/group
        echo 'alice:x:64010:64010::/nonexistent:/usr/sbin/nologin' >> etc/passwd
        echo '\(accentedUser.name):x:64011:64010::/nonexistent:/usr/sbin/nologin' >> etc/passwd
        echo 'alice:x:64010:' >> etc/group
        install -d -m 750 -g winbindd_priv state/winbindd_privileged
        chown proxy squid
        mount --bind etc/passwd /etc/passwd
        mount --bind etc/group /etc/group
        mount -t tmpfs tmpfs /run
        mkdir -p /run/samba/winbindd /run/samba/ncalrpc
        chmod 755 /run/samba /run/samba/winbindd
        add() { printf '%s\\n%s\\n' "$2" "$2" | smbpasswd -c \(folder)/smb.conf -s -a "$1"; }
        add alice 'open sesame'
        add '\(accentedUser.name)' '\(accentedUser.password)'
        winbindd -F --no-process-group -s \(folder)/smb.conf > winbind.log 2>&1 &
        for try in $(seq 200); do [ -S /run/samba/winbindd/pipe ] && break; sleep 0.05; done
        # Not exec: changing the user id clears the parent-death signal, and the end of this shell ends the namespace.
        \(squid) -N -n peers -f \(file)

        """
    }
}
