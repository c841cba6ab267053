# Removes a user's files in directories of others, as root. Other users may change these directories meanwhile.
#
# usage: perl remove-owned.pl UID KEEP... -- PLACE...
#
# It exits with 0 when it has searched everything below the places and removed all files of the user, except the paths
# in KEEP and other file systems. It follows no link.
#
# Every directory on the path stays open, and names are looked up in the open directory. Programs that go up by `..`,
# such as find(1) and rm(1), end up elsewhere if a directory is moved meanwhile, and then give up; an app could use this
# to hide files. A directory of the user is first closed to all others (root, mode 0700), so that nobody can add entries
# or move them out.
use strict;
use Fcntl qw(:DEFAULT :mode);

# Most open directories. Deeper directories of the user are removed with rm(1); deeper ones of others are not searched,
# because ordinary programs leave no files there.
use constant DEEPEST => 200;

my $uid = shift @ARGV;
my (%keep, %mounted, $incomplete);

# Mount points are not accessed at all: a user's file system (FUSE) may refuse root, hang, or be dead. The path is the
# fifth field.
open my $mounts, '<', '/proc/self/mountinfo' or die "mountinfo: $!\n";
while (<$mounts>) {
  my $path = (split / /)[4];
  $path =~ s/\\(\d{3})/chr oct $1/ge;
  $mounted{$path} = 1;
}
close $mounts;

while (defined(my $path = shift @ARGV)) {
  last if $path eq '--';
  my ($dev, $ino) = lstat $path or next;
  $keep{"$dev $ino"} = 1;
}

# Marks the search as incomplete, unless the entry is gone or was replaced.
sub complain { $incomplete = 1 unless $!{ENOENT} || $!{ENOTDIR} || $!{ELOOP}; return }

sub open_directory {
  sysopen my $directory, shift, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK or return complain;
  return $directory;
}

# Removes an entry of the current directory.
sub remove {
  my ($name, $device, $depth) = @_;
  my @info = lstat $name or return complain;
  if (!S_ISDIR($info[2])) {
    unlink $name or complain;
    return;
  }
  return if $info[0] != $device || $keep{"$info[0] $info[1]"};
  if ($depth >= DEEPEST) {
    system { 'rm' } 'rm', '-rf', '--one-file-system', '--', "./$name";
    return;
  }
  my $directory = open_directory($name) or return;
  return if (stat $directory)[0] != $device;
  chown 0, 0, $directory;
  chmod 0700, $directory;
  descend($directory, sub { remove($_[0], $device, $depth + 1) });
  rmdir $name or complain;
}

# Searches or removes an entry of the current directory.
sub search {
  my ($name, $device, $depth) = @_;
  my @info = lstat $name or return complain;
  return remove($name, $device, $depth) if $info[4] == $uid;
  return if !S_ISDIR($info[2]) || $info[0] != $device || $depth >= DEEPEST || $keep{"$info[0] $info[1]"};
  my $directory = open_directory($name) or return;
  return if (stat $directory)[0] != $device;
  descend($directory, sub { search($_[0], $device, $depth + 1) });
}

# Enters an open directory, calls back for each entry, and returns to the previous directory.
sub descend {
  my ($directory, $visit) = @_;
  my $back = open_directory('.') or return $incomplete = 1;
  my $own = '/proc/self/fd/' . fileno $directory;
  my $path = readlink $own;
  opendir my $list, $own or return $incomplete = 1;
  chdir $directory or return $incomplete = 1;
  while ($! = 0, defined(my $name = readdir $list)) {
    $visit->($name) unless $name eq '.' || $name eq '..' || $mounted{"$path/$name"};
  }
  $incomplete = 1 if $! != 0;
  chdir $back or die "chdir: $!\n";
}

for my $place (@ARGV) {
  my $directory = open_directory($place) or next;
  my ($device, $inode) = stat $directory;
  descend($directory, sub { search($_[0], $device, 0) }) unless $keep{"$device $inode"};
}
exit($incomplete ? 1 : 0);
