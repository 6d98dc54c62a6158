# cause: none
# source: a healthy program
# host: yes
perl -e 'my %h; for (1..50000) { $h{$_ % 500} = "x" x 100; } print scalar keys %h'
