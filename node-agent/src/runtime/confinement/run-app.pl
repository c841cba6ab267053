# Runs an app and its session bus as the session's user: the last program between the agent and an app.
#
# usage: perl -e CONFINE_PL_AND_THIS_TEXT -- DBUS_DAEMON|"" SECCOMP_FILTER|"" COMMAND...
#
# The app's environment comes from stdin, NAME=value with a NUL behind each. It stands where nothing is root any more:
# variables such as PATH and LD_PRELOAD make every program that is started with them run other people's code, and in
# arguments all users of the host could read the values. Perl, because a shell cannot hold every name and node takes
# too long to start. An app without a bus ("") gets none.
#
# Two processes, each the subreaper of what it started, so that no process of the app is lost and none is confused
# with one of the bus:
#
#   this one ── dbus-daemon ── services that the bus activated
#      └─ keeper ── the app's first process ── all that the app started, daemons included
#
# The keeper ends, and with it the app, when the first process fails, or when no process of the app is left. What the
# bus activated does not keep the app alive; whoever started this ends it. Its exit status is that of the app: of the
# first process; where that is 0, of the last one if a fault (SIGSEGV and its like) ended it. 128 + n is signal n.
# What lives when the first process has ended with 0 is told by a line on descriptor 3, for the agent.
use strict;

local $/;
%ENV = map { /\A([^=]+)=(.*)\z/s } split /\0/, <STDIN>;
open STDIN, '<', '/dev/null';
# Descriptors of pipes reach the programs that they are for.
$^F = 1023;

my $bus = shift @ARGV;
my $filter = shift @ARGV;
open my $report, '>&=', 3;
# SIGTERM goes to all processes of an app at once; these two wait for the others.
my $ignore = sub { };

# prctl(PR_SET_CHILD_SUBREAPER) on x86-64.
sub adopt_orphans { syscall 157, 36, 1, 0, 0, 0 }

sub status_of { my $wait = shift; return $wait & 127 ? 128 + ($wait & 127) : $wait >> 8 }

# Starts a bus, waits until it listens, and tells the app where. What it and its services write goes nowhere.
sub start_bus {
  pipe my $address, my $out or return;
  my $pid = fork // return;
  if ($pid == 0) {
    close $address;
    close $report if $report;
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
    # The path of a socket has at most 107 bytes.
    my $dir = length $ENV{XDG_RUNTIME_DIR} < 80 ? $ENV{XDG_RUNTIME_DIR} : '/tmp';
    exec { $bus } $bus, '--session', '--nofork', '--nopidfile', '--nosyslog', "--address=unix:dir=$dir",
      '--print-address=' . fileno $out;
    exit 127;
  }
  close $out;
  # To the end of the line; the daemon closes the pipe as well.
  $/ = "\n";
  my $line = <$address>;
  close $address;
  return print STDERR "no session bus: $bus did not start\n" unless defined $line;
  chomp $line;
  $ENV{DBUS_SESSION_BUS_ADDRESS} = $line;
}

sub keep_app {
  adopt_orphans();
  my $app = fork // exit 127;
  if ($app == 0) {
    close $report if $report;
    exec { $ARGV[0] } @ARGV;
    print STDERR "$ARGV[0]: $!\n";
    exit 127;
  }
  @SIG{qw(TERM INT HUP PIPE)} = ($ignore) x 4;
  my ($first, $last) = (0, 0);
  while ((my $pid = wait) != -1) {
    if ($pid != $app) { $last = status_of($?); next }
    $first = status_of($?);
    exit $first if $first != 0;
    syswrite $report, "left\n" if $report;
  }
  # ILL, ABRT, BUS, FPE, SEGV, SYS.
  exit((grep { $last == 128 + $_ } 4, 6, 7, 8, 11, 31) ? $last : $first);
}

confine($filter) if $filter ne '';
adopt_orphans();
start_bus() if $bus ne '';
my $keeper = fork // exit 127;
keep_app() if $keeper == 0;
@SIG{qw(TERM INT HUP)} = ($ignore) x 3;
while ((my $pid = wait) != -1) { exit status_of($?) if $pid == $keeper }
